package providers

import (
	"bytes"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"clawbot/internal/lazyregexp"
)

// RetryAfter reads how long a vendor asks to wait, from its headers
// (retry-after-ms; retry-after in seconds or as a date), from its body
// (google.rpc.RetryInfo, or prose), or from when a limit that is spent begins
// anew (x-ratelimit-reset-requests and -tokens, of OpenAI and those like it). It
// reports false if the answer does not say, or says nothing that can be
// understood. A time that has passed is 0.
func RetryAfter(header http.Header, body []byte, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(header.Get("Retry-After-Ms")), 64); err == nil {
		return seconds(ms / 1000), true
	}
	if d, ok := retryAfterHeader(header.Get("Retry-After"), now); ok {
		return d, true
	}
	if d, ok := retryAfterBody(body); ok {
		return d, true
	}
	return limitReset(header)
}

// limitReset is how long the spent one of OpenAI's limits takes to begin anew.
func limitReset(header http.Header) (wait time.Duration, ok bool) {
	for _, limit := range []string{"Requests", "Tokens"} {
		if header.Get("X-Ratelimit-Remaining-"+limit) != "0" {
			continue
		}
		if d, err := time.ParseDuration(header.Get("X-Ratelimit-Reset-" + limit)); err == nil && d >= wait {
			wait, ok = d, true
		}
	}
	return wait, ok
}

func retryAfterHeader(v string, now time.Time) (time.Duration, bool) {
	v = strings.TrimSpace(v)
	first, _, _ := strings.Cut(v, ",") // a proxy may have added its own
	if s, err := strconv.ParseFloat(strings.TrimSpace(first), 64); err == nil && !math.IsNaN(s) {
		return seconds(s), true
	}
	if d, err := time.ParseDuration(v); err == nil {
		return max(d, 0), true
	}
	for _, layout := range []string{http.TimeFormat, time.RFC850, time.ANSIC, time.RFC1123Z, time.RFC3339} {
		if t, err := time.Parse(layout, v); err == nil {
			return max(t.Sub(now), 0), true
		}
	}
	return 0, false
}

// A duration in a body: RetryInfo's "retryDelay": "45.8s", or prose such as
// "try again in 1m2.5s", "retry after 20 seconds", "reset after 2h7m23s".
var (
	retryDelay   = lazyregexp.New(`"retry_?[dD]elay"\s*:\s*"?([0-9][0-9.hms]*)"?`)
	retryProse   = lazyregexp.New(`(?i)(?:retry|again|reset|wait)[a-z ]{0,24}?(?:in|after|for)?:? ((?:[0-9]+(?:\.[0-9]+)? ?(?:ms|milliseconds?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\b?[ ,]*)+)`)
	retryField   = lazyregexp.New(`"retry_?[aA]fter(?:_?[sS]econds)?"\s*:\s*"?([0-9]+(?:\.[0-9]+)?)"?`)
	durationUnit = lazyregexp.New(`(?i)([0-9]+(?:\.[0-9]+)?) ?(ms|milli|h|m|s)`)
)

func retryAfterBody(body []byte) (time.Duration, bool) {
	if len(body) > 64<<10 {
		body = body[:64<<10]
	}
	if !bytes.ContainsAny(body, "0123456789") {
		return 0, false
	}
	if m := retryDelay.FindSubmatch(body); m != nil {
		return spokenDuration(string(m[1]))
	}
	if m := retryField.FindSubmatch(body); m != nil {
		s, err := strconv.ParseFloat(string(m[1]), 64)
		return seconds(s), err == nil
	}
	if m := retryProse.FindSubmatch(body); m != nil {
		return spokenDuration(string(m[1]))
	}
	return 0, false
}

func spokenDuration(s string) (time.Duration, bool) {
	var total float64
	parts := durationUnit.FindAllStringSubmatch(s, -1)
	for _, p := range parts {
		n, err := strconv.ParseFloat(p[1], 64)
		if err != nil {
			return 0, false
		}
		switch strings.ToLower(p[2]) {
		case "ms", "milli":
			n /= 1000
		case "m":
			n *= 60
		case "h":
			n *= 3600
		}
		total += n
	}
	if len(parts) == 0 {
		n, err := strconv.ParseFloat(s, 64)
		return seconds(n), err == nil
	}
	return seconds(total), true
}

// seconds bounds what a vendor asks for to a year, lest it overflow.
func seconds(s float64) time.Duration {
	if math.IsNaN(s) || s < 0 {
		return 0
	}
	return time.Duration(min(s, 365*24*3600) * float64(time.Second))
}
