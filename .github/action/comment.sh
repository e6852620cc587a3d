#!/usr/bin/env bash
# Comments on the pull request with the summary, or edits the comment of an earlier run. A comment that cannot be
# written is a warning: the result of the checks is that of the next step.
# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

stop() {
    annotate "$1" "no comment on the pull request: $2"
    exit 0
}

is_true "$INPUT_COMMENT" comment || exit 0
if [[ -z $INPUT_PULL_REQUEST ]]; then
    echo "no pull request: no comment"
    exit 0
fi
[[ -n $INPUT_TOKEN ]] || stop notice "there is no token, as for a pull request of a fork"
[[ $INPUT_TOKEN =~ ^[A-Za-z0-9_.-]+$ ]] || fail "the input token has characters that no token has"
[[ $INPUT_PULL_REQUEST =~ ^[0-9]+$ ]] || fail "the number of the pull request is \"$INPUT_PULL_REQUEST\""
[[ $GITHUB_REPOSITORY =~ ^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$ ]] || fail "the repository is \"$GITHUB_REPOSITORY\""
[[ $INPUT_COMMENT_KEY =~ ^[A-Za-z0-9._-]+$ ]] || fail "comment-key \"$INPUT_COMMENT_KEY\": want letters, digits and ._-"
need_url "$GITHUB_API_URL" GITHUB_API_URL

work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/looptape-comment.XXXXXX")
issues=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues
marker="<!-- looptape: $INPUT_COMMENT_KEY -->"

# api METHOD URL sends body.json, if it is not a GET, and sets status. The response is in response.json. The token is
# neither an argument of a program nor part of a message, and follows no redirect.
api() {
    local arguments=(--silent --show-error --globoff --proto '=https,http' --max-time 60 --request "$1" --output "$work/response.json" --write-out '%{http_code}'
        --header 'Accept: application/vnd.github+json' --header 'X-GitHub-Api-Version: 2022-11-28' --url "$2")
    [[ $1 == GET ]] || arguments+=(--header 'Content-Type: application/json' --data-binary "@$work/body.json")
    status=$(printf 'header = "Authorization: Bearer %s"\n' "$INPUT_TOKEN" | curl --config - "${arguments[@]}" 2>/dev/null) || status="none (the server cannot be reached)"
}

# need STATUS ends the script unless the response has this status.
need() {
    [[ $status == "$1" ]] || case $status in
    401 | 403 | 404) stop warning "status $status: the token does not permit it, as for a pull request of a fork, or the limit of requests is reached" ;;
    *) stop warning "status $status" ;;
    esac
}

# own prints the number of the comments in response.json, and the id of the first one of this job and author.
own() {
    awk -v marker="$marker" -v author="$INPUT_COMMENT_AUTHOR" -f "$(dirname "${BASH_SOURCE[0]}")/comments.awk" "$work/response.json"
}

{
    printf '%s\n' "$marker"
    # GitHub rejects a comment of more than 65,536 characters.
    shorten "$INPUT_REPORTS/summary.md" 60000
} >"$work/comment.md"
# The comment as JSON.
{
    printf '{"body":"'
    tr -d '\000-\010\013-\037' <"$work/comment.md" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' -e 's/$/\\n/' | tr -d '\n'
    printf '"}'
} >"$work/body.json"

id=
for ((page = 1; page <= 100; page++)); do
    api GET "$issues/$INPUT_PULL_REQUEST/comments?per_page=100&page=$page"
    need 200
    found=$(own)
    id=${found#* }
    [[ -z $id && ${found%% *} == 100 ]] || break
done
if [[ -n $id ]]; then
    api PATCH "$issues/comments/$id"
    if [[ $status != 404 ]]; then # else it was deleted
        need 200
        echo "the comment $id was edited"
        exit 0
    fi
fi
api POST "$issues/$INPUT_PULL_REQUEST/comments"
need 201
echo "a comment was written"
