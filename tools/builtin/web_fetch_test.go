package builtin

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"clawbot/agentcore"
)

// fetch runs web_fetch, which may reach the test's server and nothing else
// that is private.
func fetch(t *testing.T, server *httptest.Server, args map[string]any) (string, error) {
	t.Helper()
	tool := webFetch(func(to netip.AddrPort) bool { return server != nil && to.String() == server.Listener.Addr().String() })
	raw, err := json.Marshal(args)
	must(t, err)
	result, err := tool.Execute(t.Context(), agentcore.Call{Name: "web_fetch", Arguments: raw}, nil)
	if err != nil {
		return "", err
	}
	return textOf(result), nil
}

func TestWebFetchReadsPages(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		_, _ = io.WriteString(w, `<html><head><title> The
			title </title><style>x</style></head><body><nav>menu</nav><h1>Caf`+"\xe9"+`</h1><p>One <b>two</b>,
			<a href="/next">three</a>.</p><script>evil()</script><ul><li>a</li><li>b</li></ul><pre>x  y</pre><p hidden>h</p></body></html>`)
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"a":1}`)
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("é", 70_000)) })
	mux.HandleFunc("/bin", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 1, 2}) })
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusGone) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/json", http.StatusFound) })
	server := httptest.NewServer(mux)
	defer server.Close()

	page, err := fetch(t, server, map[string]any{"url": server.URL + "/page"})
	must(t, err)
	want := "# Café\n\nOne two, three (" + server.URL + "/next).\n\n- a\n- b\n\n```\nx  y\n```\n"
	if !strings.Contains(page, want) || !strings.Contains(page, "\nThe title\n") || strings.Contains(page, "evil") || strings.Contains(page, "menu") {
		t.Errorf("page = %q, want %q in it", page, want)
	}
	tests := []struct {
		path   string
		args   map[string]any
		says   string
		failed bool
	}{
		{"/json", nil, `{"a":1}`, false},
		{"/moved", nil, "/json (200 OK, application/json)", false},
		{"/page", map[string]any{"raw": true}, "<script>", false},
		{"/long", nil, "[40000 more characters; go on with offset 30000]", false},
		{"/long", map[string]any{"offset": 60_000}, strings.Repeat("é", 10_000) + "\n", false},
		{"/gone", nil, "410 Gone", false},
		{"/bin", nil, "binary", true},
	}
	for _, test := range tests {
		args := map[string]any{"url": server.URL + test.path}
		maps.Copy(args, test.args)
		got, err := fetch(t, server, args)
		if err != nil {
			got = err.Error()
		}
		if (err != nil) != test.failed || !strings.Contains(got, test.says) {
			t.Errorf("%s %v: %.300q, want %q", test.path, test.args, got, test.says)
		}
	}
}

func TestWebFetchReachesOnlyThePublicInternet(t *testing.T) {
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "s3cret") }))
	defer secret.Close()
	_, port, _ := strings.Cut(secret.Listener.Addr().String(), ":")
	door := httptest.NewServer(http.RedirectHandler(secret.URL, http.StatusFound))
	defer door.Close()
	t.Setenv("HTTP_PROXY", secret.URL)
	t.Setenv("http_proxy", secret.URL)
	for _, url := range []string{
		secret.URL, "http://localhost:" + port, "http://127.1:" + port, "http://2130706433:" + port, "http://0x7f.1:" + port,
		"http://0:" + port, "http://0.0.0.0:" + port, "http://[::1]:" + port, "http://[::ffff:127.0.0.1]:" + port,
		"http://[0:0:0:0:0:ffff:7f00:1]/", "http://[64:ff9b::7f00:1]/", "http://169.254.169.254/", "http://[fd00:ec2::254]/",
		"http://10.0.0.1/", "http://[2002:7f00:1::]/", "http://[fe80::1%25lo]/",
		"file:///etc/passwd", "ftp://example.com/", "http://user:pass@example.com/", "http:///x", "//x", "%zz",
	} {
		if got, err := fetch(t, nil, map[string]any{"url": url}); err == nil {
			t.Errorf("%s gave %q", url, got)
		}
	}
	if got, err := fetch(t, door, map[string]any{"url": door.URL}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a redirect led inside: %q %v", got, err)
	}
}

func TestOnlyRoutedAddressesArePublic(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "::ffff:10.0.0.1": false, "100.64.0.1": false, "198.19.0.1": false, "fc00::1": false,
		"64:ff9b::8.8.8.8": false, "2001:0:1::": false, "ff02::1": false, "::": false, "255.255.255.255": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("public(%s) = %v", address, got)
		}
	}
}

func TestWebFetchBoundsWhatItReads(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		zeros := make([]byte, 1<<20)
		for range 64 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		_ = z.Close()
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/deep", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, strings.Repeat("<div>", 400_000), "deep")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	if _, err := fetch(t, server, map[string]any{"url": server.URL + "/bomb"}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a compressed bomb: %v", err)
	}
	if _, err := fetch(t, server, map[string]any{"url": server.URL + "/loop"}); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("a redirect loop: %v", err)
	}
	if _, err := fetch(t, server, map[string]any{"url": server.URL + "/deep"}); err != nil {
		t.Errorf("a deep page: %v", err)
	}
}
