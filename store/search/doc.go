// Package search says what a text is found by, the same in every store: it cuts
// texts and queries into folded words, and finds the passage to show.
//
// Case, accents and the width of letters make no difference. A word is found by
// its beginning; where a script has no spaces between words, any part of a text
// is found. A query has no operators: it is words, all of which must occur.
package search
