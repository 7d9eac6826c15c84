# shellcheck shell=bash
# Shared by the scripts of this folder: messages, stage timings, skips. Sourced, never run.

CAUSEWAY_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export CAUSEWAY_ROOT
# Where every script leaves its logs, captures and virtual environments.
CAUSEWAY_OUT="${CAUSEWAY_OUT:-$CAUSEWAY_ROOT/target/causeway}"
export CAUSEWAY_OUT
mkdir -p "$CAUSEWAY_OUT"

if [[ -t 1 ]]; then bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'; else bold='' red='' plain=''; fi

say() { printf '%s==> %s%s\n' "$bold" "$*" "$plain"; }
warn() { printf '%s%s%s\n' "$red" "$*" "$plain" >&2; }
die() { warn "error: $*"; exit 1; }

has() { command -v "$1" >/dev/null 2>&1; }
is_root() { [[ "$(id -u)" == 0 ]]; }

# The version of all crates, as Cargo.toml has it.
workspace_version() { sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$CAUSEWAY_ROOT/Cargo.toml"; }

# strip_binary FROM TO: without symbols and debug information, and without what was made from them: the linker's build ID is a hash of
# all of it, with the folder of the build.
strip_binary() { strip --strip-unneeded --remove-section=.comment --remove-section=.note.gnu.build-id -o "$2" "$1"; }

# skip NAME TOOL REASON: reports one skipped test, in the one form that `scripts/test` collects.
skip() { printf 'SKIPPED %s: needs %s (%s)\n' "$1" "$2" "$3" >&2; }

# required TOOL: true when a skip for want of TOOL has to fail the run.
required() { [[ ",${CAUSEWAY_REQUIRE:-}," == *",$1,"* ]]; }

# stage NAME COMMAND...: runs a command, remembers how long it took, stops the script when it fails.
stage_table=()
stage() {
    local name="$1" start=$SECONDS rc=0
    shift
    say "$name"
    # In `"$@" || rc=$?` bash would ignore every failure but the last inside a function.
    set +e
    (set -e; "$@")
    rc=$?
    set -e
    stage_table+=("$(printf '%-28s %5d s  %s' "$name" $((SECONDS - start)) "$([[ $rc == 0 ]] && echo ok || echo "FAILED ($rc)")")")
    if [[ $rc != 0 ]]; then
        stage_report
        die "stage '$name' failed with status $rc"
    fi
}

stage_report() {
    say "time per stage"
    printf '    %s\n' "${stage_table[@]}"
    printf '    %-28s %5d s\n' total "$SECONDS"
}
