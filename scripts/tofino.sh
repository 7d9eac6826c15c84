# shellcheck shell=bash
# Judges what the compiler for Tofino 1 has made of a program: its exit status and its stages do not say whether the output is the
# program. Sourced by scripts/p4 and p4/capacity after lib.sh, never run.

# preprocess OPTION... FILE: the program behind the preprocessor. The compiler has no program then, and says so by status 3.
preprocess() {
    local rc=0
    p4c-barefoot -E --target tofino --arch tna --std p4-16 "$@" 2>/dev/null || rc=$?
    ((rc == 0 || rc == 3)) || die "p4c-barefoot -E ended with status $rc: $*"
}

# last_stage FOLDER: the highest stage that is used.
last_stage() { sed -nE 's/^stage ([0-9]+) (ingress|egress|ghost):.*/\1/p' "$1"/pipe/*.bfa | sort -n | tail -n 1; }

# blocks FOLDER KIND: how many blocks of memory all tables take together: of TCAM, or of SRAM.
blocks() {
    awk -v kind="$2" '
        /^stage / { table = "" }
        /^  [a-z_]+ [^ ]+( [0-9]+)?:$/ { table = $1; listing = 0 }
        /^ *column:/ { listing = 1; sub(/^ *column:/, ""); count($0); next }
        /^ *- / { if (listing) count($0); next }
        { listing = 0 }
        function count(text) {
            if (table != "" && (table == "ternary_match") == (kind == "tcam")) all += gsub(/[0-9]+/, "", text)
        }
        END { print all + 0 }' "$1"/pipe/*.bfa
}

# matches FOLDER: how many states of the parsers match anything.
matches() {
    awk '/^[^ ]/ { parser = /^parser (ingress|egress|ghost)/ }
        parser && /^ +match: / { all++ }
        END { print all + 0 }' "$1"/pipe/*.bfa
}

# selects FILE: how many states of the parsers select, in a program behind the preprocessor.
selects() { sed -e 's#//.*##' "$1" | tr -s '[:space:]' ' ' | grep -oE 'transition select ?\(' | wc -l; }

# placed_twice FOLDER: the registers that stand in several stages or on both sides. They are several memories, each of which has seen
# some of the packets; the compiler says nothing.
placed_twice() {
    awk '/^stage [0-9]+ (ingress|egress|ghost):/ { place = $2 " " $3; sub(":", "", place); register = 0; next }
        /^[^ ]/ { place = "" }
        /^  [^ ]/ { register = (place != "" && $1 == "stateful") }
        register && /^ +p4: [{] name: / {
            name = $0
            sub(/^ +p4: [{] name: /, "", name)
            sub(/[, }].*/, "", name)
            if (!((name, place) in seen)) { seen[name, place] = 1; times[name]++ }
        }
        END { for (name in times) if (times[name] > 1) print name }' "$1"/pipe/*.bfa | sort
}

# assemble FOLDER: runs the assembler, where it is on PATH; its messages are in FOLDER/assembler.log.
assemble() {
    local file
    : >"$1/assembler.log"
    has bfas || { skip p4_assembler bfas "not on PATH: nothing was assembled"; return 0; }
    for file in "$1"/pipe/*.bfa; do
        mkdir -p "$1/assembled/logs"
        bfas --target tofino -o "$1/assembled" "$file" >>"$1/assembler.log" 2>&1 || return 1
    done
}

# wrong FOLDER SOURCE: a line for each way in which the output is not the program, whose source behind the preprocessor is SOURCE.
# Run `assemble` before.
wrong() {
    local selected matched name
    selected="$(selects "$2")" matched="$(matches "$1")"
    ((matched >= selected)) ||
        echo "its parsers select in $selected states, but match in $matched: the compiler has dropped some (p4c #5063 drops all)"
    while IFS= read -r name; do
        echo "register $name is placed twice: use all of its actions in one table"
    done < <(placed_twice "$1")
    ! grep -q "Can't match parser state due to previous match" "$1/assembler.log" ||
        echo "the assembler cannot match a state of a parser, since another one matches all of its packets: $1/assembler.log"
}
