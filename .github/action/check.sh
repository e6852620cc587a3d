#!/usr/bin/env bash
# Runs the parts, writes the reports and the job summary, and sets the outputs result and reports. It fails only if
# the inputs are wrong, so that the next step can comment.
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

reports=$(mktemp -d "${RUNNER_TEMP:-/tmp}/looptape-reports.XXXXXX")
# prefix is that of names in annotations, which are relative to the repository.
prefix=
case $INPUT_FOLDER in
. | ./) ;;
/*)
    cd -- "$INPUT_FOLDER" 2>/dev/null || fail "working-directory \"$INPUT_FOLDER\": no such folder"
    ;;
*)
    cd -- "./$INPUT_FOLDER" 2>/dev/null || fail "working-directory \"$INPUT_FOLDER\": no such folder"
    prefix=${INPUT_FOLDER#./}
    prefix=$(escape_property "${prefix%/}")/
    ;;
esac
strict=()
! is_true "$INPUT_STRICT" strict || strict=(--strict)
write_summary=false
! is_true "$INPUT_SUMMARY" summary || write_summary=true

result=passed
checked=0
rows=

# expand PATTERNS INPUT sets files to the files that match: one pattern per line. A pattern without a match fails.
expand() {
    local pattern name before IFS= # no word is split
    files=()
    while read -r pattern || [[ -n $pattern ]]; do
        pattern=${pattern%$'\r'}
        [[ -n ${pattern//[[:space:]]/} ]] || continue
        before=${#files[@]}
        if [[ -e $pattern ]]; then # a name may have the characters of patterns
            add "$pattern"
        else
            for name in $pattern; do # without IFS, this is not split into words
                [[ ! -e $name ]] || add "$name"
            done
        fi
        if ((${#files[@]} == before)); then
            annotate error "$2: no file matches \"$pattern\""
            rows+="| $2 | a pattern without a file | failed |"$'\n'
            result=failed
        fi
    done <<<"$1"
}

# add NAME adds a name that is no flag and not standard input.
add() {
    case $1 in
    -*) files+=("./$1") ;;
    *) files+=("$1") ;;
    esac
}

# escape_xml prints standard input as text of XML.
escape_xml() { tr -c '\11\12\40-\176' '?' | sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' -e 's/"/\&quot;/g'; }

# print_annotations FILE prints annotations of files in the working directory.
print_annotations() {
    local line
    while IFS= read -r line; do
        case $line in
        '::'[a-z]*' file='*) line="${line%% file=*} file=$prefix${line#* file=}" ;;
        esac
        printf '%s\n' "$line"
    done <"$1"
}

# part NAME COMMAND… runs a command of looptape with the files.
part() {
    local name=$1 status=0 word=passed
    shift
    looptape "$@" --format github --junit "$reports/$name.xml" --markdown "$reports/$name.md" "${files[@]}" 2>"$reports/$name.txt" >"$reports/$name.annotations" || status=$?
    print_annotations "$reports/$name.annotations"
    cat "$reports/$name.txt" >&2
    if ((status != 0)); then
        result=failed
        word="failed, exit status $status"
        [[ -s $reports/$name.annotations ]] || annotate error "$name: exit status $status: $(tail -n 5 "$reports/$name.txt")"
    fi
    rows+="| $name | ${#files[@]} | $word |"$'\n'
    if [[ ! -s $reports/$name.xml ]]; then # the command could not begin
        {
            printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="looptape %s" tests="1" failures="0" errors="1" skipped="0">\n' "$name"
            printf '  <testcase classname="looptape" name="%s" time="0"><error type="exit" message="exit status %d">' "$name" "$status"
            escape_xml <"$reports/$name.txt"
            printf '</error></testcase>\n</testsuite>\n'
        } >"$reports/$name.xml"
        result=failed
    fi
    if [[ ! -s $reports/$name.md ]]; then
        printf '### looptape %s: exit status %d\n\n' "$name" "$status" >"$reports/$name.md"
        head -n 20 "$reports/$name.txt" | tr -c '\11\12\40-\176' '?' | sed 's/^/    /' >>"$reports/$name.md" # a block of code
    fi
    rm -f "$reports/$name.txt" "$reports/$name.annotations"
    checked=$((checked + ${#files[@]}))
    parts+=("$name")
}

parts=()
expand "$INPUT_SCENARIOS" scenarios
((${#files[@]} == 0)) || part run run
expand "$INPUT_CASSETTES" cassettes
((${#files[@]} == 0)) || part cassette-verify cassette verify
expand "$INPUT_CHECK" check
((${#files[@]} == 0)) || part check check ${strict[@]+"${strict[@]}"}
expand "$INPUT_SUITES" suites
suites=(${files[@]+"${files[@]}"})
for i in ${suites[@]+"${!suites[@]}"}; do
    files=("${suites[i]}")
    part "eval-gate-$((i + 1))" eval gate
done

if ((checked == 0)); then
    result=failed
    annotate error "nothing was checked: set the inputs scenarios, cassettes, check or suites"
    rows+="| nothing was checked | 0 | failed |"$'\n'
fi
{
    printf '## looptape: %s\n\n| part | files | result |\n| --- | --- | --- |\n%s' "$result" "$rows"
    for name in ${parts[@]+"${parts[@]}"}; do
        printf '\n'
        cat "$reports/$name.md"
    done
} >"$reports/summary.md"
# GitHub drops a summary of more than 1 MiB.
! $write_summary || shorten "$reports/summary.md" 1000000 >>"$GITHUB_STEP_SUMMARY"
output result "$result"
output reports "$reports"
