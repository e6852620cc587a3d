package tape

// Version 1 of the format has other names for some words; see fromVersion1. Its line
// "recorded TIME by WORDS" also contains the recorder. Readers accept both versions.
const oldRecorder = " by "

// fromVersion1 returns the word of the current version for a word of version 1. It
// returns other words unchanged.
func fromVersion1(word string) string {
	switch word {
	case "cut":
		return "truncated"
	case "pieces":
		return "chunks"
	case "head":
		return "metadata"
	}
	return word
}
