//! The command line of a report that is made from so many releases.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// Has the report written of as many releases and into the directory that the arguments say. Of fewer
/// than `least` there is none.
pub fn run(
    name: &str,
    usage: &str,
    least: usize,
    write: impl FnOnce(usize, &Path) -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [releases, directory] => {
            releases.parse().ok().filter(|&releases| releases >= least).map(|r| (r, directory))
        }
        _ => None,
    };
    let Some((releases, directory)) = parsed else {
        eprintln!("{usage}");
        return ExitCode::from(2);
    };
    match write(releases, Path::new(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}
