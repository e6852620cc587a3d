// Within the tree of cmd/looptape, whose internal packages have the commands that the release documents.
// It is never published.
module github.com/looptape/looptape/cmd/looptape/release

go 1.26.0

replace github.com/looptape/looptape => ../
