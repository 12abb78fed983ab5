# shellcheck shell=bash
# What the benchmarks share; they source it from the checkout's root.

set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C # for the decimal points and the words of psql and awk
export PGOPTIONS="${PGOPTIONS-} -c client_min_messages=warning"
[[ ! ${PG_CONFIG-} ]] || PATH=$("$PG_CONFIG" --bindir):$PATH

# How many times each thing is measured. With QUICK, sizes are small as well: it shows that a benchmark works, not more.
rounds=${ROUNDS:-5}
[[ ! ${QUICK-} ]] || rounds=${ROUNDS:-1}

client() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }
say() { printf '==> %s\n' "$*" >&2; }

# server: what it runs on, in words
server() { client -d postgres -c "SELECT 'PostgreSQL ' || current_setting('server_version')"; }

# goal WHAT MEASURED <=|>= LIMIT [WHICH]: a figure for the report's summary, which benches/run makes; of several with the
# same words the worst counts, and WHICH tells it.
goal() { [[ ! ${GOALS-} ]] || (IFS=$'\t'; echo "$*") >>"$GOALS"; }

# with_opendp ARGUMENT...: Python with OpenDP and NumPy from PyPI, which are installed once
opendp=0.16.0
opendp_folder=${XDG_CACHE_HOME:-$HOME/.cache}/pg_dp/opendp-$opendp
with_opendp() { "$opendp_folder/bin/python" "$@"; }
install_opendp() {
    local folder=$opendp_folder
    [[ ! -e $folder/complete ]] || return 0
    say "installing OpenDP into $folder"
    python3 -m venv --clear "$folder"
    "$folder/bin/pip" install -q --disable-pip-version-check "opendp==$opendp" numpy==2.4.6 >&2
    touch "$folder/complete"
}

# A database with the extension that lasts as long as the script.
create_database() {
    local database=pg_dp_bench_$$
    client -d postgres -c "CREATE DATABASE $database TEMPLATE template0"
    # shellcheck disable=SC2064 # the name of now is meant
    trap "client -d postgres -c 'DROP DATABASE IF EXISTS $database WITH (FORCE)'" EXIT
    export PGDATABASE=$database
    client -c 'CREATE EXTENSION pg_dp'
}

# medians ROUNDS STATEMENT...: the median seconds of each statement, in one line. They take turns, in one session, so
# that whatever else the machine does meets all alike; a first round that fills the caches does not count.
medians() {
    local rounds=$1 round
    shift
    for ((round = 0; round <= rounds; round++)); do printf '%s;\n' "$@"; done |
        client -o /dev/null -c '\timing on' -f - |
        awk -v n=$# 'NR > n { print (NR - 1) % n, $2 / 1000 }' |
        sort -k 1,1n -k 2,2n |
        awk -v rounds="$rounds" '(NR - 1) % rounds == int((rounds - 1) / 2) { printf "%s ", $2 }'
}

# fresh STATEMENT: the seconds that it takes in a new connection, the most memory in MiB that the backend has ever had,
# and how much of that is pages of files and of the server's shared memory. Parallel workers' own memory is not in it.
fresh() {
    client -F ' ' -o /dev/null -c '\timing on' -c "$1" -c '\timing off' -c '\o' -c "
        SELECT m[1], m[2]::bigint + m[3]::bigint
          FROM regexp_match(pg_read_file('/proc/self/status'),
                            'VmHWM:\s+(\d+) kB.*RssFile:\s+(\d+) kB.*RssShmem:\s+(\d+) kB') AS m" |
        awk '/^Time:/ { seconds = $2 / 1000; next } { print seconds, $1 / 1024, $2 / 1024 }'
}

# cancelled SECONDS STATEMENT: for how many seconds a statement goes on after pg_cancel_backend, which it meets after
# so many seconds; nothing if it came to its end before. The connection that cancels takes a hundredth of it.
cancelled() {
    local running begin answer
    exec {running}< <(PGAPPNAME='to be cancelled' client -v VERBOSITY=sqlstate -c "$2" 2>&1 >/dev/null)
    sleep "$1"
    begin=$EPOCHREALTIME
    client -o /dev/null -c "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                             WHERE application_name = 'to be cancelled' AND datname = current_database()"
    read -r answer <&"$running" || true # it says nothing unless it fails
    case $answer in
        *57014) calculate "$EPOCHREALTIME - $begin" ;;
        ?*) printf '%s\n' "$answer" >&2; return 1 ;;
    esac
    exec {running}<&-
}

calculate() { awk "BEGIN { print $1 }"; }
# ratio SECONDS OF
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", a / b }'; }
whole() { printf '%.0f' "$1"; }
seconds() { printf '%.3f' "$1"; }
thousands() { sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta' <<<"$1"; }

# Lines of a Markdown table: a first column of words, then numbers. A row's missing cells stay empty.
columns=0
header() {
    local column
    columns=$#
    row "$@"
    printf '|:%s|' "$(printf '%49s' '' | tr ' ' -)"
    for ((column = 1; column < columns; column++)); do printf -- '-------------:|'; done
    echo
}
row() {
    local column
    printf '| %-48s |' "$1"
    for ((column = 2; column <= columns; column++)); do printf ' %12s |' "${!column-}"; done
    echo
}
