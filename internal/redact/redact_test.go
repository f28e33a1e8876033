package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"clawbot/internal/redact"
)

const token = "123:AA-very/secret+\"token\""

func TestASecretIsNeverPrinted(t *testing.T) {
	s := redact.Secret(token)
	nested := struct {
		Key  redact.Secret
		Keys redact.Secrets
	}{s, redact.Secrets{s}}
	for _, v := range []any{s, &s, nested, &nested, []redact.Secret{s}, map[string]redact.Secret{"k": s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10s"} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, "secret") || strings.Contains(got, fmt.Sprintf("%x", token)) {
				t.Errorf("Sprintf(%q, %T) = %q shows the secret", verb, v, got)
			}
		}
		b, err := json.Marshal(v)
		if err != nil || strings.Contains(string(b), "secret") {
			t.Errorf("json.Marshal(%T) = %s, %v shows the secret", v, b, err)
		}
	}
	if s.Reveal() != token {
		t.Errorf("Reveal() = %q, want the secret", s.Reveal())
	}
	if got := fmt.Sprint(redact.Secret("")); got != "" {
		t.Errorf("an empty secret prints %q, want nothing", got)
	}
}

func TestKnownSecretsAreTakenOutInEverySpelling(t *testing.T) {
	r := redact.New(token, "hunter22", "hunter22-longer")
	quoted, _ := json.Marshal(token)
	for _, s := range []string{
		"GET https://api/bot" + token + "/getMe",
		"GET https://api/?key=" + url.QueryEscape(token),
		"GET https://api/" + url.PathEscape(token),
		string(quoted),
		fmt.Sprintf("%q", token),
	} {
		got := r.String(s)
		if strings.Contains(got, "secret") || !strings.Contains(got, redact.Mask) {
			t.Errorf("String(%q) = %q", s, got)
		}
	}
	if got := r.String("x hunter22-longer y"); got != "x "+redact.Mask+" y" {
		t.Errorf("a secret that begins with another leaves its rest: %q", got)
	}
	if got := redact.New("a", "", "word").String("a word of plain text"); got != "a word of plain text" {
		t.Errorf("short secrets blank out plain text: %q", got)
	}
	var none *redact.Redactor
	if got := none.String(token); got != token {
		t.Errorf("a nil Redactor changes text: %q", got)
	}
}

type leaky struct{ Inner *inner }
type inner struct{ Token string }
type stringer struct{}

func (stringer) String() string { return "stringer " + token }

type valuer struct{}

func (valuer) LogValue() slog.Value { return slog.GroupValue(slog.String("deep", token)) }

func TestLogRecordsCarryNoSecretWhateverTheAttribute(t *testing.T) {
	r := redact.New()
	for name, format := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			logger := slog.New(r.Handler(format(&out)))
			r.Add(token) // later than the handler
			logger.With("with", token).WithGroup("g").Error("failed for "+token,
				"string", token,
				"error", fmt.Errorf("call: %w", &url.Error{Op: "Get", URL: "https://api/bot" + token, Err: errors.New("refused")}),
				"struct", leaky{&inner{token}},
				"slice", []string{token},
				"bytes", []byte(token),
				"map", map[string]any{"k": map[string]string{"t": token}},
				"stringer", stringer{},
				"valuer", valuer{},
				slog.Group("group", "deep", token),
				"plain", 7)
			got := out.String()
			if strings.Contains(got, "secret") {
				t.Errorf("the log shows the secret: %s", got)
			}
			if !strings.Contains(got, "plain") || !strings.Contains(got, "refused") {
				t.Errorf("the log lost what is not secret: %s", got)
			}
		})
	}
}

func TestPlainValuesPassUnchanged(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(redact.New(token).Handler(slog.NewJSONHandler(&out, nil)))
	logger.Info("ok", "list", []int{1, 2}, "map", map[string]int{"a": 1})
	if got := out.String(); !strings.Contains(got, `"list":[1,2]`) || !strings.Contains(got, `"map":{"a":1}`) {
		t.Errorf("structured values lost their shape: %s", got)
	}
}

func BenchmarkRedactingALineWithoutSecrets(b *testing.B) {
	r := redact.New("sk-ant-api03-abcdefghijklmnop", "123456:AAabcdefghijklmnopqrstuvwxyz", "xoxb-123-456-abcdef")
	line := strings.Repeat("a line of an ordinary log, sent to telegram:1:2 ", 3)
	b.ReportAllocs()
	for b.Loop() {
		_ = r.String(line)
	}
}
