package agentcore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"clawbot/agentcore"
)

func property(schema string) string {
	return `{"type":"object","properties":{"v":` + schema + `}}`
}

func TestCoercionTurnsWhatWasMeantIntoWhatTheSchemaWants(t *testing.T) {
	for _, test := range []struct{ name, schema, args, want string }{
		{"an exponent string is a number", property(`{"type":"number"}`), `{"v":"1e3"}`, `{"v":1e3}`},
		{"an exponent string is an integer", property(`{"type":"integer"}`), `{"v":"1e3"}`, `{"v":1000}`},
		{"a fraction of zero is an integer", property(`{"type":"integer"}`), `{"v":5.0}`, `{"v":5}`},
		{"numbers as people write them", property(`{"type":"array","items":{"type":"number"}}`), `{"v":[" 5 ","+5","-.5","5.","007","-0"]}`, `{"v":[5,5,-0.5,5,7,-0]}`},
		{"a boolean is a number", property(`{"type":"number"}`), `{"v":true}`, `{"v":1}`},
		{"integers keep all their digits", property(`{"type":"integer"}`), `{"v":"9007199254740993123456789"}`, `{"v":9007199254740993123456789}`},
		{"integers beside what is coerced keep their digits", `{"type":"object","properties":{"v":{"type":"integer"},"w":{"type":"boolean"}}}`, `{"v":9007199254740993,"w":"true"}`, `{"v":9007199254740993,"w":true}`},
		{"what fits is passed on byte for byte", property(`{"type":"integer"}`), ` {"v" : 12345678901234567890, "<x>":"é"} `, ` {"v" : 12345678901234567890, "<x>":"é"} `},
		{"exact words are booleans", property(`{"type":"array","items":{"type":"boolean"}}`), `{"v":["true","false",1,0]}`, `{"v":[true,false,true,false]}`},
		{"numbers and booleans are text", property(`{"type":"array","items":{"type":"string"}}`), `{"v":[1.50,true,12345678901234567890]}`, `{"v":["1.50","true","12345678901234567890"]}`},
		{"empty things are null", property(`{"type":"array","items":{"type":"null"}}`), `{"v":["",0,false]}`, `{"v":[null,null,null]}`},
		{"null for an optional integer is absent", property(`{"type":"integer"}`), `{"v":null}`, `{}`},
		{"null for an optional choice is absent", property(`{"enum":["a","b"]}`), `{"v":null}`, `{}`},
		{"null for a nullable property stays", property(`{"type":["integer","null"]}`), `{"v":null}`, `{"v":null}`},
		{"null for an optional property behind a reference is absent", `{"type":"object","properties":{"v":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, `{"v":null}`, `{}`},
		{"null for a property of unknown type stays", property(`{}`), `{"v":null}`, `{"v":null}`},
		{"a member of a union that fits is left alone", property(`{"anyOf":[{"type":"string"},{"type":"number"}]}`), `{"v":5}`, `{"v":5}`},
		{"a type of several that fits is left alone", property(`{"type":["string","number"]}`), `{"v":5}`, `{"v":5}`},
		{"a member of a union that fits is left alone while its neighbours change", `{"type":"object","properties":{"v":{"anyOf":[{"type":"string"},{"type":"number"}]},"w":{"type":"boolean"}}}`, `{"v":5,"w":"true"}`, `{"v":5,"w":true}`},
		{"an integer in a union is written plainly", property(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), `{"v":5.0}`, `{"v":5}`},
		{"the first member that a value can become wins", property(`{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`), `{"v":"true"}`, `{"v":true}`},
		{"the first type of several that changes a value wins", property(`{"type":["integer","boolean"]}`), `{"v":"true"}`, `{"v":true}`},
		{"members of allOf each have their say", property(`{"allOf":[{"type":"integer"},{"minimum":3}]}`), `{"v":"5"}`, `{"v":5}`},
		{"oneOf is a union too", property(`{"oneOf":[{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},{"type":"null"}]}`), `{"v":{"n":"4"}}`, `{"v":{"n":4}}`},
		{"a written array is an array", property(`{"type":"array","items":{"type":"integer"}}`), `{"v":"[1,\"2\"]"}`, `{"v":[1,2]}`},
		{"a written object is an object", property(`{"type":"object","properties":{"n":{"type":"integer"}}}`), `{"v":"{\"n\":\"2\"}"}`, `{"v":{"n":2}}`},
		{"written JSON for text stays text", property(`{"type":"string"}`), `{"v":"[1]"}`, `{"v":"[1]"}`},
		{"written JSON for a union with text stays text", property(`{"type":["array","string"]}`), `{"v":"[1]"}`, `{"v":"[1]"}`},
		{"a single value where a list of such is wanted", property(`{"type":"array","items":{"type":"integer"}}`), `{"v":"7"}`, `{"v":[7]}`},
		{"properties without a name in the schema", `{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":"1"}`, `{"a":1}`},
		{"tuples of draft 7", property(`{"type":"array","items":[{"type":"integer"},{"type":"boolean"}]}`), `{"v":["1","true"]}`, `{"v":[1,true]}`},
		{"tuples of draft 2020-12", property(`{"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"boolean"}}`), `{"v":["1","true"]}`, `{"v":[1,true]}`},
		{"a reference to the whole schema", `{"type":"object","properties":{"n":{"type":"integer"},"next":{"$ref":"#"}}}`, `{"next":{"next":{"n":"3"}}}`, `{"next":{"next":{"n":3}}}`},
		{"the whole object written as a string", property(`{"type":"integer"}`), `"{\"v\":1}"`, `{"v":1}`},
		{"no arguments at all", property(`{"type":"integer"}`), ``, `{}`},
		{"null for the arguments", property(`{"type":"integer"}`), `null`, `{}`},
		{"a tool without a schema", ``, `{"anything":[1]}`, `{"anything":[1]}`},
		{"a boolean exclusiveMinimum of draft 4", property(`{"type":"integer","minimum":3,"exclusiveMinimum":true}`), `{"v":"4"}`, `{"v":4}`},
		{"a draft that nobody knows", `{"$schema":"https://example.com/mine","type":"object","properties":{"v":{"type":"integer"}}}`, `{"v":"4"}`, `{"v":4}`},
		{"a pattern that Go can't compile", property(`{"type":"string","pattern":"^(?!x)"}`), `{"v":"abc"}`, `{"v":"abc"}`},
		{"a property named pattern", `{"type":"object","properties":{"pattern":{"type":"string"}},"required":["pattern"]}`, `{"pattern":5}`, `{"pattern":"5"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			tool := &agentcore.Tool{Name: "x", Schema: json.RawMessage(test.schema)}
			got, err := agentcore.ValidateArguments(tool, json.RawMessage(test.args))
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, want %s (%v)", got, test.want, err)
			}
		})
	}
}

func TestWhatWasNotMeantIsAnErrorThatNamesThePlace(t *testing.T) {
	for _, test := range []struct{ name, schema, args, want string }{
		{"no hexadecimal", property(`{"type":"number"}`), `{"v":"0x10"}`, "- /v: Expected number\n"},
		{"no infinity", property(`{"type":"number"}`), `{"v":"Infinity"}`, "- /v: Expected number\n"},
		{"no truncation", property(`{"type":"integer"}`), `{"v":"3.7"}`, "- /v: Expected integer\n"},
		{"no truncation of numbers", property(`{"type":"integer"}`), `{"v":3.7}`, "- /v: Expected integer\n"},
		{"no other words for true", property(`{"type":"boolean"}`), `{"v":"True"}`, "- /v: Expected boolean\n"},
		{"no empty number", property(`{"type":"number"}`), `{"v":""}`, "- /v: Expected number\n"},
		{"no null for a required property", `{"type":"object","properties":{"v":{"type":"integer"}},"required":["v"]}`, `{"v":null}`, "- /v: Expected integer\n"},
		{"no null in a list", property(`{"type":"array","items":{"type":"integer"}}`), `{"v":[1,null]}`, "- /v/1: Expected integer\n"},
		{"broken JSON is not a list of one", property(`{"type":"array","items":{"type":"string"}}`), `{"v":"[1,"}`, "- /v: Expected array\n"},
		{"a missing property", `{"type":"object","required":["a","it's"]}`, `{}`, "- /a: Expected required property\n- /it's: Expected required property\n"},
		{"an unexpected property", `{"type":"object","additionalProperties":false}`, `{"a/b~c d":1}`, "- /a~1b~0c d: Unexpected property\n"},
		{"a nested place", property(`{"type":"array","items":{"type":"object","required":["x"]}}`), `{"v":[{"x":1},{}]}`, "- /v/1/x: Expected required property\n"},
		{"a union of types", property(`{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`), `{"v":"x"}`, "- /v: Expected integer or boolean\n"},
		{"the closest member of a union", property(`{"anyOf":[{"type":"object","required":["path"]},{"type":"integer"}]}`), `{"v":{}}`, "- /v/path: Expected required property\n"},
		{"the allowed values", property(`{"enum":["a","b"]}`), `{"v":"A"}`, "- /v: Expected one of \"a\", \"b\"\n"},
		{"a bound", property(`{"type":"integer","minimum":3}`), `{"v":"2"}`, "- /v: Must be >= 3 but found 2\n"},
		{"no object", property(`{}`), `[1]`, "- root: Expected object\n"},
		{"two objects", property(`{}`), `{} {}`, "- root: Invalid JSON: unexpected '{' after the value, at byte 3\n"},
		{"a cut object", property(`{}`), `{"v":"abc`, "- root: The JSON text ends too early in a string\n"},
		{"NaN", property(`{}`), `{"v":NaN}`, "- root: Invalid JSON: unexpected 'N' where a value is expected, at byte 5\n"},
		{"duplicate keys", property(`{}`), `{"v":{"a":1,"a":2}}`, "- /v/a: Duplicate key\n"},
		{"invalid UTF-8", property(`{}`), "{\"v\":\"\xff\"}", "- root: Not valid UTF-8\n"},
		{"a number beyond all use", property(`{"type":"integer"}`), `{"v":1e999999999}`, "- root: The number at byte 5 is too large or too precise\n"},
		{"a written number beyond all use", property(`{"type":"integer"}`), `{"v":"1e999999999"}`, "- /v: Expected integer\n"},
		{"deep nesting", property(`{}`), `{"v":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, "- root: Nested more than 100 levels deep\n"},
		{"two hundred thousand values", property(`{"type":"array","items":{"type":"string"}}`), `{"v":[` + strings.Repeat("null,", 200_000) + `1]}`, "- root: Too many values for one call; send less at once\n"},
		{"5 MB", property(`{}`), `{"v":"` + strings.Repeat("x", 5<<20) + `"}`, "- root: 5242888 bytes are too much: the limit is 1048576\n"},
		{"a schema that is none", `{"type":"strin"}`, `{}`, "- root: This tool can't be used, because its own schema is broken: "},
		{"a schema that is not JSON", `{"type":`, `{}`, "- root: This tool can't be used, because its own schema is broken: "},
		{"a schema that is a number", `5`, `{}`, "- root: This tool can't be used, because its own schema is broken: "},
		{"a schema that refers to a file", property(`{"$ref":"file:///etc/passwd"}`), `{}`, "references must stay inside the schema"},
		{"a schema that refers to nothing", property(`{"$ref":"#/$defs/none"}`), `{}`, "- root: This tool can't be used, because its own schema is broken: "},
		{"a schema that refers to itself", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{}`, "- root: "},
		{"false", `false`, `{}`, "- root: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			tool := &agentcore.Tool{Name: "x", Schema: json.RawMessage(test.schema)}
			_, err := agentcore.ValidateArguments(tool, json.RawMessage(test.args))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if n := len(err.Error()); n > 6000 {
				t.Errorf("the error has %d bytes", n)
			}
			if _, ok := errors.AsType[*agentcore.ValidationError](err); !ok {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

func TestAValidationErrorHasTheDocumentedForm(t *testing.T) {
	tool := &agentcore.Tool{Name: "get_weather", Schema: weatherSchema}
	_, err := agentcore.ValidateArguments(tool, json.RawMessage(`{"location":["Lima"]}`))
	want := "Validation failed for tool \"get_weather\":\n- /location: Expected string\n\nReceived arguments:\n{\n  \"location\": [\n    \"Lima\"\n  ]\n}"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestManyIssuesAreCountedNotListed(t *testing.T) {
	items := strings.TrimSuffix(strings.Repeat(`"x",`, 5000), ",")
	tool := &agentcore.Tool{Name: "x", Schema: json.RawMessage(property(`{"type":"array","items":{"type":"integer"}}`))}
	_, err := agentcore.ValidateArguments(tool, json.RawMessage(`{"v":[`+items+`]}`))
	if err == nil || !strings.Contains(err.Error(), "- and 4980 more\n") || len(err.Error()) > 6000 {
		t.Errorf("got %.300v", err)
	}
}

// TestNestedUnionsAreNotTriedForEver gives coercion a tree in which every level
// is a union; the test's own timeout is the limit.
func TestNestedUnionsAreNotTriedForEver(t *testing.T) {
	schema := `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{
		"kids":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"v":{"type":"integer"}}}}}`
	tool := &agentcore.Tool{Name: "x", Schema: json.RawMessage(schema)}
	args := strings.Repeat(`{"kids":[`, 49) + strings.Repeat(`{"v":1},`, 300) + `{"v":"2"}` + strings.Repeat("]}", 49)
	if got, err := agentcore.ValidateArguments(tool, json.RawMessage(args)); err == nil && !json.Valid(got) {
		t.Errorf("got %.100s", got)
	}
	args = strings.Repeat(`{"kids":[`, 20) + `{"v":"2"}` + strings.Repeat("]}", 20)
	if got, err := agentcore.ValidateArguments(tool, json.RawMessage(args)); err != nil || string(got) != strings.Replace(args, `"2"`, "2", 1) {
		t.Errorf("got %s (%v)", got, err)
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(property(`{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"null"}]}}`), `{"v":"[1,null,\"2\"]"}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"x":{"$ref":"#"}}}}}`, `{"x":{"x":null}}`)
	f.Add(property(`{"type":"integer"}`), `{"v":1e400}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		tool := &agentcore.Tool{Name: "x", Schema: json.RawMessage(schema)}
		got, err := agentcore.ValidateArguments(tool, json.RawMessage(args))
		if err != nil {
			if err.Error() == "" || len(err.Error()) > 30_000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		var obj map[string]json.RawMessage
		if json.Unmarshal(got, &obj) != nil {
			t.Fatalf("%s is valid, but no object: %s", args, got)
		}
		again, err := agentcore.ValidateArguments(tool, got)
		if err != nil || string(again) != string(got) {
			t.Fatalf("validated %s, then %s (%v)", got, again, err)
		}
	})
}

func ExampleValidateArguments() {
	tool := &agentcore.Tool{Name: "get_weather", Schema: json.RawMessage(
		`{"type":"object","properties":{"location":{"type":"string"},"days":{"type":"integer"}},"required":["location"]}`)}

	args, err := agentcore.ValidateArguments(tool, json.RawMessage(`{"location":"Lima","days":"3"}`))
	fmt.Println(string(args), err)

	_, err = agentcore.ValidateArguments(tool, json.RawMessage(`{"location":["Lima"]}`))
	fmt.Println(err)
	// Output:
	// {"days":3,"location":"Lima"} <nil>
	// Validation failed for tool "get_weather":
	// - /location: Expected string
	//
	// Received arguments:
	// {
	//   "location": [
	//     "Lima"
	//   ]
	// }
}
