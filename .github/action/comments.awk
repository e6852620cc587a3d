# Reads a list of comments as JSON and prints the number of comments, a space, and the id of the first comment by the
# author that begins with the marker, if there is one. Records end at quotes, so each is outside of strings, or a part
# of a string.
BEGIN { RS = "\""; depth = 0; inside = 0; ended = 0 }

inside {
    text = text $0
    if (match($0, /\\+$/) && RLENGTH % 2) {
        text = text "\"" # an escaped quote
    } else {
        inside = 0
        ended = 1
    }
    next
}

{
    rest = $0
    if (ended && rest ~ /^[ \t\r\n]*:/) {
        key[depth] = text
        sub(/^[ \t\r\n]*:[ \t\r\n]*/, "", rest)
        if (depth == 2 && text == "id" && match(rest, /^[0-9]+/)) {
            id = substr(rest, 1, RLENGTH)
        }
    } else if (ended && depth == 2 && key[2] == "body") {
        body = text
    } else if (ended && depth == 3 && key[2] == "user" && key[3] == "login") {
        login = text
    }
    structure(rest)
    text = ""
    inside = 1
    ended = 0
}

# structure counts the objects and lists that begin and end.
function structure(outside, i, c) {
    gsub(/[^][{}]/, "", outside)
    for (i = 1; i <= length(outside); i++) {
        c = substr(outside, i, 1)
        if (c == "{" || c == "[") {
            depth++
            key[depth] = ""
        } else {
            depth--
            if (depth == 1) {
                comment()
            }
        }
    }
}

# comment ends a comment.
function comment() {
    count++
    gsub(/\\u003[cC]/, "<", body)
    gsub(/\\u003[eE]/, ">", body)
    if (own == "" && login == author && index(body, marker) == 1) {
        own = id
    }
    id = body = login = ""
}

END { print count + 0, own }
