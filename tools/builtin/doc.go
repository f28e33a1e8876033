// Package builtin has the tools that come with clawbot. Each tool is a .go file
// with the prose for the model in a .md file beside it.
//
// File tools touch nothing outside the workspace of their call's scope: paths
// are resolved by [os.Root], only regular files with a single name are opened,
// and one lock per path keeps calls from treading on each other.
package builtin
