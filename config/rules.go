package config

import (
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"clawbot/gateway/schedule"
)

// rules of single values stand in the tags of their fields:
//
//	enum:"a|b"            one of these
//	min:"0" max:"1"       numbers and durations, both ends included
//	env:"NAME"            a secret's variable when the file doesn't set it
//	rule:"nonempty"       not blank
//	rule:"path"           relative to the configuration's folder
//	rule:"url:http,https" an absolute URL of one of these schemes
//	rule:"proxy"          "", "env" or a proxy's URL
//	rule:"listen"         host:port
//	rule:"ids"            numbers are taken as texts
//	rule:"header"         a secret that may hold spaces
//	rule:"zone"           "" or an IANA time zone
//
// Several are joined by commas, url: being the last.
func rules(tag reflect.StructTag) []string {
	rule := tag.Get("rule")
	if rule == "" {
		return nil
	}
	rest, isURL := rule, ""
	if i := strings.Index(rule, "url:"); i >= 0 {
		rest, isURL = strings.TrimSuffix(rule[:i], ","), rule[i:]
	}
	var out []string
	if rest != "" {
		out = strings.Split(rest, ",")
	}
	if isURL != "" {
		out = append(out, isURL)
	}
	return out
}

func hasRule(tag reflect.StructTag, name string) bool { return slices.Contains(rules(tag), name) }

func (d *decoder) checkNumber(s setting, v float64) {
	if low := s.tag.Get("min"); low != "" {
		if limit, err := strconv.ParseFloat(low, 64); err == nil && v < limit {
			d.problem(s.path, "%v is too small; the least is %s", v, low)
		}
	}
	if high := s.tag.Get("max"); high != "" {
		if limit, err := strconv.ParseFloat(high, 64); err == nil && v > limit {
			d.problem(s.path, "%v is too large; the most is %s", v, high)
		}
	}
}

func (d *decoder) checkDuration(s setting, v time.Duration) {
	if low, err := time.ParseDuration(s.tag.Get("min")); err == nil && v < low {
		d.problem(s.path, "%s is too short; the least is %s", v, s.tag.Get("min"))
	}
	if high, err := time.ParseDuration(s.tag.Get("max")); err == nil && v > high {
		d.problem(s.path, "%s is too long; the most is %s", v, s.tag.Get("max"))
	}
}

func (d *decoder) checkText(s setting, value string) {
	if enum := s.tag.Get("enum"); enum != "" {
		if allowed := strings.Split(enum, "|"); !slices.Contains(allowed, value) {
			d.problem(s.path, "%s", noneOf(s.shown(value), allowed))
		}
	}
	for _, rule := range rules(s.tag) {
		if message := checkRule(rule, value, s.shown(value)); message != "" {
			d.problem(s.path, "%s", message)
			return
		}
	}
}

// checkSecret is checkText for values that must not be told.
func (d *decoder) checkSecret(s setting, value string) bool {
	for _, rule := range rules(s.tag) {
		if checkRule(rule, value, "") != "" {
			d.problem(s.path, "is no %s", ruleName(rule))
			return false
		}
	}
	least := ' ' + 1
	if hasRule(s.tag, "header") {
		least = ' '
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < least || r == 0x7f }) {
		d.problem(s.path, "holds a space, a line break or a control character, which no key or token has; paste it again")
		return false
	}
	return true
}

func noneOf(value string, allowed []string) string {
	message := fmt.Sprintf("%q is none of %s", value, strings.Join(allowed, ", "))
	if near := nearest(value, allowed); near != "" {
		message += "; did you mean " + near + "?"
	}
	return message
}

func ruleName(rule string) string {
	if schemes, ok := strings.CutPrefix(rule, "url:"); ok {
		return "URL that begins with " + strings.ReplaceAll(schemes, ",", "://, ") + "://"
	}
	return rule
}

// checkRule returns what is wrong with the value, or nothing; a message quotes it
// as shown.
func checkRule(rule, value, shown string) string {
	switch {
	case rule == "nonempty":
		if strings.TrimSpace(value) == "" {
			return "must not be empty; remove the line for the default"
		}
	case value == "":
	case strings.HasPrefix(rule, "url:"):
		return checkURL(value, strings.Split(strings.TrimPrefix(rule, "url:"), ","))
	case rule == "zone":
		if _, err := schedule.Zone(value); err != nil {
			return err.Error()
		}
	case rule == "proxy":
		if value != "env" {
			if message := checkURL(value, []string{"http", "https", "socks5", "socks5h"}); message != "" {
				return message + `; or write "env" for HTTP_PROXY and HTTPS_PROXY`
			}
		}
	case rule == "listen":
		return checkListen(value, shown)
	}
	return ""
}

func checkURL(value string, schemes []string) string {
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return fmt.Sprintf("is no URL; write one like %s://host", schemes[0])
	case !slices.Contains(schemes, u.Scheme):
		return fmt.Sprintf("must begin with %s://", strings.Join(schemes, ":// or "))
	case u.Host == "":
		return fmt.Sprintf("has no host; write one like %s://host", schemes[0])
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "has no port from 1 to 65535"
		}
	}
	return ""
}

func checkListen(value, shown string) string {
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		return fmt.Sprintf(`%q is no host:port; write one like "127.0.0.1:8080", or ":8080" for all addresses`, shown)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Sprintf("%q has no port from 1 to 65535 (0 is any free one)", shown)
	}
	if strings.ContainsAny(host, " /") {
		return fmt.Sprintf(`%q is no host:port; write one like "127.0.0.1:8080"`, shown)
	}
	return ""
}
