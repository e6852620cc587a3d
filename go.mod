module github.com/looptape/looptape

go 1.26
