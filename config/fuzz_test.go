package config

import (
	"strings"
	"testing"
)

// Whatever the bytes are, the loader returns a configuration or problems that
// name the file, and tells no value of a variable.
func FuzzLoadingAnyBytes(f *testing.F) {
	f.Add([]byte(Example()))
	f.Add([]byte(uncommented()))
	f.Add([]byte("[agent]\nname = \"${SECRET}\"\nmodel=\"${SECRET}\"\n[[x]]\n[x.y]\n[[x]]\na = [{b=1},{c=2}]"))
	f.Add([]byte("a.b.c = { d = [ [1], {e='${SECRET}'} ] }\n\"\" = 1\n[server]\ntoken=['${SECRET}',2]"))
	f.Add([]byte("[access]\nowners=['telegram:${SECRET}']\n[queue]\nchannels={'${SECRET}'='steer'}"))
	env := environment("SECRET=hidden-value-of-it")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := (&Loader{Env: env}).decode("f.toml", dir, data)
		if (cfg == nil) == (err == nil) {
			t.Fatalf("decode = %v, %v: want one of them", cfg, err)
		}
		if err == nil {
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if strings.Contains(line, "hidden-value") {
				t.Errorf("the message tells a variable's value: %s", line)
			}
		}
	})
}

func FuzzReadingAnyDotenv(f *testing.F) {
	f.Add("A=1\nexport B='x'\nC=\"\\n\"\n#\nD")
	f.Fuzz(func(t *testing.T, text string) {
		r := &report{}
		vars := parseDotenv(".env", text, r)
		if len(vars)+len(r.problems) > strings.Count(text, "\n")+1 {
			t.Errorf("more results than lines: %v, %v", vars, r.problems)
		}
	})
}
