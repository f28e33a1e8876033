package providers

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"clawbot/agentcore"
	"clawbot/internal/lazyregexp"
)

// defaultBase is each format's own vendor.
var defaultBase = map[string]string{
	FormatAnthropic: "https://api.anthropic.com",
	FormatOpenAI:    "https://api.openai.com",
	FormatResponses: "https://api.openai.com",

	FormatTranscription: "https://api.openai.com",
	FormatGoogle:        "https://generativelanguage.googleapis.com",
	FormatMistral:       "https://api.mistral.ai",
}

// endpointPath is what stands after the version, and so tells formats apart in
// a URL that was pasted whole.
var endpointPath = map[string]string{
	FormatAnthropic: "/messages",
	FormatOpenAI:    "/chat/completions",
	FormatResponses: "/responses",

	FormatTranscription: "/audio/transcriptions",
	FormatMistral:       "/chat/completions",
}

// azureVersion is the api-version of Azure's URLs with deployments.
const azureVersion = "2024-10-21"

var versionSegment = lazyregexp.New(`(?:^|/)v\d+(?:(?:alpha|beta)\d*)?(?:/|$)`)

// base parses the configured base URL.
func (c Config) base(format string) (*url.URL, error) {
	raw := strings.TrimSpace(c.BaseURL)
	if raw == "" {
		raw = defaultBase[format]
	}
	if !strings.Contains(raw, "://") {
		raw = guessScheme(raw) + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &agentcore.Error{Class: agentcore.ErrNotFound, Message: fmt.Sprintf(
			"%s = %q is no http or https URL", c.setting("base_url"), c.BaseURL)}
	}
	u.Fragment = ""
	u.Path = strings.TrimSuffix(path.Clean("/"+u.Path), "/")
	u.RawPath = ""
	return u, nil
}

// guessScheme is for "localhost:11434" and the like.
func guessScheme(raw string) string {
	host, _, _ := strings.Cut(raw, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil || !strings.Contains(host, ".") {
		return "http://"
	}
	return "https://"
}

// Endpoint returns the URL that a format's requests are sent to. The base URL
// may lack the version, have it, or be the endpoint itself, which is then used
// as it is. A URL that ends in another format's endpoint is an error that names
// the format to set.
func (c Config) Endpoint(format, model string, t Traits) (string, error) {
	u, err := c.base(format)
	if err != nil {
		return "", err
	}
	end := endpointPath[format]
	if other := otherFormat(u.Path, end); other != "" && other != format {
		return "", &agentcore.Error{Class: agentcore.ErrNotFound, Message: fmt.Sprintf(
			"%s = %q is the address of the format %q: set %s = %q, or give the address without its last part",
			c.setting("base_url"), c.BaseURL, other, c.setting("format"), other)}
	}
	switch {
	case format == FormatGoogle:
		return googleEndpoint(u, model), nil
	case t.Vendor == "azure":
		azurePath(u, end, model, t.APIVersion)
	case strings.HasSuffix(u.Path, end):
	default:
		if t.Vendor == "ollama" {
			u.Path = ollamaPath.ReplaceAllString(u.Path, "")
		}
		u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/models"), "/chat")
		if !versionSegment.MatchString(u.Path) && !unversioned(u.Host) {
			u.Path += "/v1"
		}
		u.Path += end
	}
	return u.String(), nil
}

var ollamaPath = lazyregexp.New(`/api(?:/(?:chat|generate|tags))?$`)

func unversioned(host string) bool {
	v, _ := vendorOf(host)
	return v.unversioned
}

func otherFormat(path, own string) string {
	for _, format := range []string{FormatAnthropic, FormatOpenAI, FormatResponses} {
		if end := endpointPath[format]; end != own && strings.HasSuffix(path, end) {
			return format
		}
	}
	if strings.Contains(path, ":streamGenerateContent") || strings.Contains(path, ":generateContent") {
		return FormatGoogle
	}
	return ""
}

func azurePath(u *url.URL, end, model, version string) {
	query := u.Query()
	if version == "" {
		version = query.Get("api-version")
	}
	p := strings.TrimSuffix(u.Path, end)
	if strings.Contains(p, "/deployments/") {
		if version == "" {
			version = azureVersion
		}
		u.Path = p + end
	} else if version != "" && version != "preview" && version != "v1" && !strings.HasSuffix(p, "/v1") {
		u.Path = "/openai/deployments/" + model + end
		if end == endpointPath[FormatResponses] {
			u.Path = "/openai" + end
		}
	} else {
		u.Path = "/openai/v1" + end
	}
	if version != "" {
		query.Set("api-version", version)
		u.RawQuery = query.Encode()
	}
}

func googleEndpoint(u *url.URL, model string) string {
	model = strings.TrimPrefix(model, "models/")
	p := strings.TrimSuffix(u.Path, "/openai") // of Google's own imitation of OpenAI
	if at := strings.Index(p, "/models"); at >= 0 {
		p = p[:at]
	}
	if !versionSegment.MatchString(p) {
		p += "/v1beta"
	}
	u.Path = p + "/models/" + model + ":streamGenerateContent"
	query := u.Query()
	query.Set("alt", "sse")
	query.Del("key") // a key in a URL would stand in every error message
	u.RawQuery = query.Encode()
	return u.String()
}
