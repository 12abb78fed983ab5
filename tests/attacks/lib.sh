# shellcheck shell=bash
# What the attacks share. Each of them gets a database of its own (PGHOST, PGPORT, PGUSER, a superuser, and PGDATABASE
# name it) that has pg_dp and the functions of tests/helpers.sql. It prints what it measured, and exits with 0 only if
# the defence held; 77 means that it could not be tried here, and why was printed.

set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C # for the decimal points and the words of psql and awk
PATH=$("${PG_CONFIG:-/usr/lib/postgresql/15/bin/pg_config}" --bindir):$PATH
export PGOPTIONS="${PGOPTIONS-} -c client_min_messages=warning"
work=$(mktemp -d)

# What remains to be done at the end; an attack may add to it.
cleanup() { :; }
leave() {
    local status=$?
    trap - EXIT
    set +e
    cleanup
    rm -rf "$work"
    exit $status
}
trap leave EXIT
trap 'exit 1' INT TERM

sql() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

# What statements print, and the SQLSTATE of an error in place of the error; never fails itself.
outcome() {
    psql -X -q -A -t -v ON_ERROR_STOP=1 -v VERBOSITY=sqlstate "$@" 2>&1 | sed -E 's/^.*(ERROR|FATAL):  //' || true
}

skip() {
    echo "skipped: $*"
    exit 77
}

# is WHAT MEASURED EXPECTED, and holds WHAT CONDITION of arithmetic: notes a failure and goes on.
failures=0
fails() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
}
is() { [[ $2 == "$3" ]] || fails "$1: $2 instead of $3"; }
holds() { (($2)) || fails "$1: not $2"; }
# The end of every attack: what the defence showed, if it held.
verdict() { ((failures == 0)) && echo "$*"; }

# 300 households in the counties of two states. One has as many persons as its number modulo 7, so some have none; the
# last ones have 12 and more. Some persons belong to no household, some were born at no known time.
create_people() {
    sql <<'SQL'
CREATE TABLE household (household int PRIMARY KEY, state text NOT NULL, county text NOT NULL);
INSERT INTO household SELECT i, 'state ' || i % 2, 'county ' || i % 3 FROM generate_series(1, 300) AS i;
CREATE TABLE person (id bigint GENERATED ALWAYS AS IDENTITY, household int, name text, born date);
INSERT INTO person (household, name, born)
SELECT i, 'person of ' || i, date '2000-01-01' + i
  FROM generate_series(1, 300) AS i, generate_series(1, CASE WHEN i < 280 THEN i % 7 ELSE i % 19 + 12 END);
INSERT INTO person (household, name) SELECT NULL, 'nobody''s' FROM generate_series(1, 5);
VACUUM ANALYZE household, person;
SQL
}
# create_dataset NAME BUDGET
create_dataset() {
    sql -o /dev/null -c "SELECT dp_create_dataset('$1', 'person', '{household}', '{state,county}', 'household',
                                                  epsilon_budget => $2)"
}

spent() { sql -c "SELECT epsilon_spent FROM dp_budget('$1')"; }
charges() { sql -c 'SELECT count(*) FROM dp.charge'; }
# Whether the ledger is whole: "t ", or "f " and what is wrong.
ledger() { sql -F ' ' -c 'SELECT whole, problem FROM dp_verify_ledger()'; }
whole() { is "the ledger${1+ after $1}" "$(ledger)" 't '; }

# until_true SECONDS QUERY: waits until a query says t.
until_true() {
    local deadline=$((SECONDS + $1))
    until [[ $(sql -c "$2") == t ]]; do
        ((SECONDS < deadline)) || { fails "not so after $1 s: $2"; return 0; }
        sleep 0.01
    done
}

# kill_9 PID: kills a process of the server's, and waits until the server knows, which ends all sessions then; a new one that
# begins before would end with them. False if it had ended by itself.
kill_9() {
    kill -9 "$1" 2>/dev/null || return 1
    while kill -0 "$1" 2>/dev/null; do sleep 0.01; done
}

microseconds() { echo "${EPOCHREALTIME/./}"; }
seconds() { awk "BEGIN { printf \"%.${2:-2}f\", $1 / 1e6 }"; } # MICROSECONDS [DIGITS]

# Sessions that stay open. `open NAME [ARGUMENT...]` starts psql; `tell NAME STATEMENT` sends it something without
# waiting; `answer NAME [SECONDS]` waits for what it printed since the last answer, errors as in outcome, and sets
# $answer (to "no answer" if there is none in that time); `ask` is both. `close NAME` ends it, also if it is stuck.
declare -A input output process
open() {
    local name=$1 in out
    shift
    mkfifo "$work/$name.in" "$work/$name.out"
    PGAPPNAME=$name psql -X -q -A -t -v VERBOSITY=sqlstate "$@" <"$work/$name.in" >"$work/$name.out" 2>&1 &
    process[$name]=$!
    exec {in}>"$work/$name.in" {out}<"$work/$name.out"
    input[$name]=$in output[$name]=$out
    rm "$work/$name.in" "$work/$name.out"
}
tell() { printf '%s;\n\\echo @\n' "$2" >&"${input[$1]}"; }
answer=
answer() {
    local line deadline=$((SECONDS + ${2:-30}))
    answer=
    while true; do
        if ! IFS= read -r -t $((deadline > SECONDS ? deadline - SECONDS : 1)) -u "${output[$1]}" line; then
            answer='no answer'
            return
        fi
        [[ $line != @ ]] || break
        line=$(sed -E 's/^.*(ERROR|FATAL):  //' <<<"$line")
        answer+=${answer:+$'\n'}$line
    done
}
ask() { tell "$1" "$2" && answer "$1" "${3:-30}"; }
# signal NAME FUNCTION: pg_cancel_backend or pg_terminate_backend; its parallel workers go by the same name.
signal() {
    sql -o /dev/null -c "SELECT $2(pid) FROM pg_stat_activity WHERE application_name = '$1' AND backend_type = 'client backend'"
}
close() {
    local in=${input[$1]} out=${output[$1]}
    signal "$1" pg_terminate_backend
    kill "${process[$1]}" 2>/dev/null || true
    wait "${process[$1]}" 2>/dev/null || true
    exec {in}>&- {out}<&-
    unset "input[$1]" "output[$1]" "process[$1]"
}

# For attacks that start servers of their own: as_server runs something as the user of the server at hand, in whose
# folder there is room for them.
may_start_servers() {
    [[ -S $PGHOST/.s.PGSQL.$PGPORT ]] || skip "PGHOST is not the folder of this machine's server"
    owner=$(stat -c %U "$PGHOST/.s.PGSQL.$PGPORT")
    if [[ $(id -un) == "$owner" ]]; then
        as_server() { "$@"; }
    elif ((EUID == 0)); then
        as_server() { (cd / && runuser -u "$owner" -- env PATH="$PATH" PGHOST="$PGHOST" PGPORT="$PGPORT" PGUSER="$PGUSER" "$@"); }
    else
        skip "only root and $owner, the server's user, can start another server"
    fi
    unset RUST_BACKTRACE RUST_LIB_BACKTRACE # they would be the new server's, and its errors long
}

# new_server FOLDER [OPTIONS]: another server, whose socket and log are in that folder, its data beside it (FOLDER.d).
new_server() {
    as_server mkdir -p -m 700 "$1"
    as_server initdb -D "$1.d" --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync --no-instructions >"$work/initdb"
    run_server "$@"
}
# The same with the data that are there. Nothing here has to survive a crash of the machine. $environment is the server's alone.
environment=()
run_server() {
    as_server env "${environment[@]}" pg_ctl start -s -w -D "$1.d" -l "$1/log" -o "-c unix_socket_directories='$1' -c listen_addresses='' -c port=5432 \
        -c fsync=off -c timezone=UTC ${2-}"
}

# A coordinator of Citus with two workers, which $coordinator and ${workers[@]} name by their ports; the connection is to
# the coordinator's database, which has pg_dp. `on PORT COMMAND...` is for another one.
start_citus() {
    [[ -e $(pg_config --pkglibdir)/citus.so ]] || skip 'Citus is not installed for this PostgreSQL'
    may_start_servers
    folder=$PGHOST/citus-$$
    coordinator=5432 workers=(5433 5434)
    local port
    cleanup() {
        for port in $coordinator "${workers[@]}"; do
            as_server pg_ctl stop -s -D "$folder/$port" -m immediate 2>/dev/null
        done
        as_server rm -rf -- "$folder"
    }

    as_server mkdir -m 700 "$folder"
    export PGHOST=$folder PGPORT=$coordinator PGUSER=postgres PGDATABASE=postgres
    for port in $coordinator "${workers[@]}"; do
        as_server initdb -D "$folder/$port" -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync --no-instructions >/dev/null
        as_server tee -a "$folder/$port/postgresql.conf" >/dev/null <<END
listen_addresses = ''
unix_socket_directories = '$folder'
port = $port
fsync = off
max_worker_processes = 16
shared_preload_libraries = 'citus'
citus.node_conninfo = 'sslmode=disable'
END
        as_server env -u PGOPTIONS pg_ctl start -s -w -D "$folder/$port" -l "$folder/$port/log" || {
            as_server cat "$folder/$port/log"
            exit 1
        }
        on "$port" sql -c 'CREATE EXTENSION citus' -c 'CREATE EXTENSION pg_dp'
    done
    sql -o /dev/null -c "SELECT citus_set_coordinator_host('$folder', $coordinator)"
    for port in "${workers[@]}"; do sql -o /dev/null -c "SELECT citus_add_node('$folder', $port)"; done
}
on() { PGPORT=$1 "${@:2}"; }

# For attacks at random moments: `strike KIND MICROSECONDS ACTION` waits in the background for the session called victim
# (caller), the ledger's worker (worker), or one that stores a release (store), which may be the same, then so long, and
# then does ACTION(pid); it gives up if the victim has come and gone.
# Returns when it is ready. `met` waits for it and sets $met to what ACTION returned, empty if it met nothing.
strike_functions() {
    sql <<'SQL'
CREATE FUNCTION strike(kind text, microseconds int, action text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    victim int;
    target int;
    come bool := false;
    result text;
BEGIN
    FOR i IN 1..100000 LOOP
        PERFORM pg_stat_clear_snapshot();
        SELECT max(pid) FILTER (WHERE application_name = 'victim'),
               max(pid) FILTER (WHERE CASE kind WHEN 'caller' THEN application_name = 'victim'
                                                WHEN 'store' THEN 'pg_dp store' IN (backend_type, application_name)
                                                ELSE backend_type = 'pg_dp ledger' AND application_name <> 'pg_dp store' END)
          INTO victim, target FROM pg_stat_activity WHERE datname = current_database();
        EXIT WHEN come AND victim IS NULL;
        come := come OR victim IS NOT NULL;
        IF come AND target IS NOT NULL THEN -- not a worker that has stayed for a session of before
            PERFORM pg_sleep(microseconds / 1e6);
            EXECUTE format('SELECT %s(%s)', action, target) INTO result;
            RETURN result;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
SQL
}
strike() {
    exec {striker}< <(PGAPPNAME=striker sql -c "SELECT strike('$1', $2, '$3')" 2>/dev/null)
    until_true 60 "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'striker' AND state = 'active')"
}
# A moment at random of what takes as long as it takes just then: `moment KEY` sets $moment to microseconds below longest[KEY],
# which `adapt KEY ANSWERED` moves until a third of the runs are answered (1) before the strike.
declare -A longest
moment() { moment=$((RANDOM * longest[$1] / 32768)); }
adapt() { longest[$1]=$((longest[$1] + longest[$1] / ($2 ? -8 : 16))); }
# Whether to go on after so many RUNS: up to ten times as many as asked for, while what is to be met has not been: `wanted`.
more() { (($1 < runs || $1 < 10 * runs && !(wanted))); }
met() {
    met=
    IFS= read -r -u "$striker" met || true # a crash of the server may have ended it
    exec {striker}<&-
}
