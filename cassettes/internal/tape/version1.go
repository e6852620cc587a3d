package tape

// Version 1 of the format differs in these words only. Readers accept both versions.
//
//	version 1            version 2
//	recorded T by WORDS  recorded T, and a line recorder WORDS
//	<! cut               <! truncated
//	pieces               chunks
//	head                 metadata
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
