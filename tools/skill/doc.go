// Package skill finds skills: directories with a SKILL.md whose front matter
// names and describes what the agent can be taught, and whose text teaches it.
// The model sees names and descriptions, and reads the rest when it needs it.
//
// A skill gives no rights: what it tells the agent to do passes the same policy
// as anything else, and one whose tools are not there is hidden.
package skill
