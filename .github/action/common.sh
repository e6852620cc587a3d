# Functions of the scripts of the action. They need bash 3.2, which macOS has, and the tools of POSIX.
set -euo pipefail
export LC_ALL=C # lengths are in bytes

# annotate LEVEL MESSAGE prints an annotation: error, warning or notice.
annotate() {
    local text=$2
    text=${text//\%/%25}
    text=${text//$'\r'/%0D}
    printf '::%s title=looptape::%s\n' "$1" "${text//$'\n'/%0A}"
}

# escape_property TEXT prints it as a property of an annotation.
escape_property() {
    local text=$1
    text=${text//\%/%25}
    text=${text//$'\r'/%0D}
    text=${text//$'\n'/%0A}
    text=${text//:/%3A}
    printf '%s' "${text//,/%2C}"
}

fail() {
    annotate error "$1"
    exit 1
}

# one_line TEXT prints it as one line of printable ASCII.
one_line() { printf '%s' "$1" | tr -c '\40-\176' '?'; }

# output NAME VALUE sets an output of the step.
output() { printf '%s=%s\n' "$1" "$(one_line "$2")" >>"$GITHUB_OUTPUT"; }

# is_true VALUE NAME checks the value of an input.
is_true() {
    case $1 in
    true) return 0 ;;
    false) return 1 ;;
    esac
    fail "the input $2 is \"$1\": want true or false"
}

# need_url URL NAME accepts https, and http of this machine for tests.
need_url() {
    [[ $1 =~ ^https://[^[:space:]]+$ || $1 =~ ^http://(127\.0\.0\.1|localhost):[0-9]+(/[^[:space:]]*)?$ ]] || fail "$2 \"$1\": want a URL that begins with https://"
}

# shorten FILE LIMIT prints a file, up to a number of bytes.
shorten() {
    local size
    size=$(($(wc -c <"$1")))
    if ((size <= $2)); then
        cat "$1"
        return
    fi
    head -c "$2" "$1" | sed '$d'
    printf '\nThis summary is shortened: it has %d bytes, and %d are shown. The reports in JUnit XML are complete.\n' "$size" "$2"
}
