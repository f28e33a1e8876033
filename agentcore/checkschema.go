package agentcore

import "encoding/json"

// CheckSchema returns why no call could be checked by the schema, nil if one
// can: for tools that come from somewhere else.
func CheckSchema(schema json.RawMessage) error {
	_, err := compileSchema(schema)
	return err
}
