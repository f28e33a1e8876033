package builtin

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"clawbot/tools/tooltest"
)

func TestEveryBuiltinPassesTheSuite(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
	defer server.Close()
	valid := map[string][]string{
		"apply_patch":    {`{"patch":"--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-one\n+1\n"}`},
		"current_time":   {`{}`, `{"zone":"America/Lima"}`},
		"edit_file":      {`{"path":"notes.txt","edits":[{"old":"two","new":"2"}]}`},
		"exec":           {`{"command":"cat notes.txt"}`, `{"command":"mkdir x"}`},
		"forget":         {`{"id":"k3fq"}`},
		"list_dir":       {`{}`},
		"process":        {`{"action":"list"}`, `{"action":"start","command":"mkdir y"}`},
		"read_file":      {`{"path":"notes.txt","offset":2,"limit":1}`},
		"remember":       {`{"fact":"Has a dog named Rex"}`},
		"schedule":       {`{"action":"list"}`, `{"action":"set","text":"x","in":"20m"}`},
		"search":         {`{"pattern":"two"}`, `{"glob":"*.txt"}`},
		"search_history": {`{"query":"two"}`, `{"query":"two","limit":3}`},
		"send_file":      {`{"path":"notes.txt"}`},
		"web_fetch":      {`{"url":"` + server.URL + `"}`},
		"write_file":     {`{"path":"new/file.txt","content":"x"}`},
	}
	builtin := New(Config{})
	defer builtin.Close()
	for _, tool := range builtin.Source().Tools {
		if tool.Name == "web_fetch" {
			tool = webFetch(func(to netip.AddrPort) bool { return to.String() == server.Listener.Addr().String() })
		}
		t.Run(tool.Name, func(t *testing.T) {
			tooltest.Run(t, tooltest.Case{
				Tool: tool, Valid: valid[tool.Name], Approve: tool.Judge != nil,
				Slow: tool.Name == "exec" || tool.Name == "process" || tool.Name == "web_fetch",
			})
		})
	}
}
