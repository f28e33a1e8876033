package google

import (
	"encoding/json"
	"strings"
	"testing"

	"clawbot/agentcore"
)

// schemas are JSON Schemas and what becomes of them, "" for nothing at all.
var schemas = []struct{ name, in, legacy, modern string }{
	{"as it is", `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}`,
		`{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["b"],"type":"object"}`,
		`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}`},
	{"no arguments", `{"type":"object","properties":{}}`, "", ""},
	{"nothing", ``, "", ""},
	{"no schema at all", `true`, "", ""},
	{"any members", `{"type":"object","additionalProperties":true}`, "", `{"type":"object","additionalProperties":true}`},
	{"no type, ghosts", `{"$schema":"x","properties":{"a":{"type":"string"}},"required":["a","ghost","a"]}`,
		`{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`,
		`{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
	{"nullable", `{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}]},"c":{"type":"null"}}}`,
		`{"properties":{"a":{"nullable":true,"type":"string"},"b":{"nullable":true,"type":"integer"},"c":{"nullable":true,"type":"string"}},"type":"object"}`, "-"},
	{"several types", `{"properties":{"a":{"type":["string","array"],"items":{"type":"number"}}}}`,
		`{"properties":{"a":{"anyOf":[{"type":"string"},{"items":{"type":"number"},"type":"array"}]}},"type":"object"}`, "-"},
	{"values", `{"properties":{"a":{"const":"x"},"b":{"enum":["x","",null]},"c":{"type":"integer","enum":[1,2],"description":"How."},"d":{"enum":[true]}}}`,
		`{"properties":{"a":{"enum":["x"],"type":"string"},"b":{"enum":["x"],"nullable":true,"type":"string"},"c":{"description":"How. One of: 1, 2.","type":"integer"},"d":{"description":"One of: true.","type":"boolean"}},"type":"object"}`, "-"},
	{"arrays", `{"properties":{"a":{"type":"array"},"b":{"type":"array","items":[{"type":"string"},{"type":"number"}]},"c":{"type":"array","items":true,"uniqueItems":true}}}`,
		`{"properties":{"a":{"items":{"type":"string"},"type":"array"},"b":{"items":{"anyOf":[{"type":"string"},{"type":"number"}]},"type":"array"},"c":{"items":{"type":"string"},"type":"array"}},"type":"object"}`, "-"},
	{"references", `{"properties":{"a":{"$ref":"#/$defs/p","description":"d"},"b":{"$ref":"#/definitions/none"}},"$defs":{"p":{"type":"object","properties":{"x":{"type":"number","format":"double"}}}}}`,
		`{"properties":{"a":{"description":"d","properties":{"x":{"format":"double","type":"number"}},"type":"object"},"b":{"type":"string"}},"type":"object"}`, "-"},
	{"a reference to what is there already", `{"properties":{"a":{"type":["string","array"],"items":{"type":"number"}},"b":{"$ref":"#/properties/a"},"c":{"$ref":"#/properties/a","type":"array"}}}`,
		`{"properties":{"a":{"anyOf":[{"type":"string"},{"items":{"type":"number"},"type":"array"}]},"b":{"anyOf":[{"type":"string"},{"items":{"type":"number"},"type":"array"}]},"c":{"items":{"type":"number"},"type":"array"}},"type":"object"}`, "-"},
	{"all of", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"],"type":"object"}`, "-"},
	{"one of", `{"properties":{"a":{"oneOf":[{"type":"string","format":"uuid"},{"type":"object","properties":{"x":{"const":1}}}]}}}`,
		`{"properties":{"a":{"anyOf":[{"type":"string"},{"properties":{"x":{"description":"One of: 1.","type":"integer"}},"type":"object"}]}},"type":"object"}`, "-"},
	{"conditions between members", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"properties":{"a":{"type":"string"}},"type":"object"}`, "-"},
	{"bounds", `{"properties":{"a":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10,"multipleOf":2},"b":{"type":"number","exclusiveMinimum":0.5}}}`,
		`{"properties":{"a":{"maximum":9,"minimum":1,"type":"integer"},"b":{"minimum":0.5,"type":"number"}},"type":"object"}`, "-"},
	{"a property called type", `{"properties":{"type":{"type":"string"},"default":{"type":"string","default":1}},"required":["type"]}`,
		`{"properties":{"default":{"type":"string"},"type":{"type":"string"}},"required":["type"],"type":"object"}`, "-"},
}

func TestASchemaBecomesWhatTheAPITakes(t *testing.T) {
	for _, c := range schemas {
		spec := agentcore.ToolSpec{Name: "t", Schema: json.RawMessage(c.in)}
		if got := string(legacySchema(spec)); got != c.legacy {
			t.Errorf("%s: parameters are\n%s, want\n%s", c.name, got, c.legacy)
		}
		if got := string(jsonSchema(spec)); c.modern != "-" && got != c.modern {
			t.Errorf("%s: parametersJsonSchema is\n%s, want\n%s", c.name, got, c.modern)
		}
	}
}

func TestASchemaThatRefersToItselfEnds(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{"child":{"$ref":"#"},"other":{"$ref":"#"}}}`,
		`{"$ref":"#","properties":{"a":{"type":"string"}}}`,
		`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		`{"properties":{"a":{"allOf":[{"$ref":"#/properties/a"},{"$ref":"#/properties/a"}]}}}`,
	} {
		got := legacySchema(agentcore.ToolSpec{Schema: json.RawMessage(schema)})
		if len(got) > 1<<20 || strings.Contains(string(got), "$ref") {
			t.Errorf("%s becomes %d bytes", schema, len(got))
		}
	}
}
