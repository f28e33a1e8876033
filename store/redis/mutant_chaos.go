//go:build chaos

package redis

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mutantVariable names the environment variable that breaks the store in one
// way, so that a test harness can prove that it would notice:
//
//	fence     nobody's token is looked at
//	release   whether a session is empty is asked first, and it is let go later
//	drain     drained messages are in memory until the next append
//	append    entries go to the end, whatever position was expected
//	intent    nobody knows that a call had begun
//	dedupe    an event that was seen is accepted again
const mutantVariable = "CLAWBOT_MUTANT"

// fences are the lines that compare tokens.
var fences = regexp.MustCompile(`(?m)^if (m\.tok|redis\.call\('HGET', META, 'tok'\)) ~= token then( return .*|\n(?:  .*\n)*)end$`)

func mutate(s *Store) {
	all := s.scripts
	all.acquire = all.acquire.edited(regexp.MustCompile(`(?m)^  redis\.call\('ZADD', ACT, 'NX', int\(t\), sid\)$`),
		"$0\n  redis.call('RPUSH', META .. '/tenures', token .. ' ' .. int(t))")
	switch mutant := os.Getenv(mutantVariable); mutant {
	case "":
	case "fence":
		for _, sc := range []**script{
			&all.renew, &all.peek, &all.drain, &all.append, &all.load, &all.intent, &all.setReply, &all.compact, &all.bury, &all.release, &all.handOff,
		} {
			*sc = (*sc).edited(fences, "")
		}
	case "release":
		s.ask = releaseInTwoSteps(s, s.ask)
	case "drain":
		all.drain = all.drain.edited(regexp.MustCompile(`(?m)^for _, item in ipairs\(out\) do redis\.call\('RPUSH', LOG, item\) end$`), "")
		s.ask = keepDrained(s, s.ask)
	case "append":
		all.append = all.append.edited(regexp.MustCompile(`(?m)^local taken, why = place\(first, n, tail\)$`), "local taken, why")
	case "intent":
		all.intent = all.intent.edited(regexp.MustCompile(`return c\[2\] == token and 0 or 1`), "return 0")
		all.acquire = all.acquire.edited(regexp.MustCompile(`redis\.call\('GET', OPEN\) or '', redis`), "'', redis")
	case "dedupe":
		all.accept = all.accept.edited(regexp.MustCompile(`(?m)^local seen = .*$`), "local seen = false")
	default:
		panic("no mutant is called " + mutant)
	}
}

// Tenure is when a lease began, by Redis's clock.
type Tenure struct {
	Token string
	Began time.Time
}

// Tenures are all that a session has had, in order. Builds with the tag chaos
// keep them.
func (s *Store) Tenures(ctx context.Context, session string) ([]Tenure, error) {
	lines, err := s.client.LRange(ctx, s.keys.session(session)[0]+"/tenures", 0, -1).Result()
	var out []Tenure
	for _, line := range lines {
		token, at, _ := strings.Cut(line, " ")
		out = append(out, Tenure{token, time.UnixMicro(number(at))})
	}
	return out, err
}

// edited returns a script in which what matches is replaced; something must.
func (sc *script) edited(match *regexp.Regexp, by string) *script {
	if !match.MatchString(sc.source) {
		panic(fmt.Sprintf("the mutation of script %s finds nothing to change", sc.name))
	}
	return hashed(sc.name, match.ReplaceAllString(sc.source, by))
}

type ask = func(ctx context.Context, sc *script, keys []string, args []any) (any, error)

// releaseInTwoSteps leaves a gap between the look and the release.
func releaseInTwoSteps(s *Store, next ask) ask {
	look := s.scripts.release.edited(regexp.MustCompile(`(?ms)^redis\.call\('HSET', META, 'giv', token\).*\z`), "return 1\n")
	leave := s.scripts.release.edited(regexp.MustCompile(`(?ms)^if waiting\(.*?^end$`), "")
	return func(ctx context.Context, sc *script, keys []string, args []any) (any, error) {
		if sc != s.scripts.release {
			return next(ctx, sc, keys, args)
		}
		reply, err := next(ctx, look, keys, args)
		if err != nil || number(reply) != 1 {
			return reply, err
		}
		time.Sleep(20 * time.Millisecond)
		return next(ctx, leave, keys, args)
	}
}

// keepDrained writes drained messages together with the next append. What is
// kept of a session goes with the tenure.
func keepDrained(s *Store, next ask) ask {
	type kept struct {
		token string
		first int64
		items []any
	}
	held := make(chan map[string]kept, 1)
	held <- map[string]kept{}
	return func(ctx context.Context, sc *script, keys []string, args []any) (any, error) {
		session := keys[0]
		m := <-held
		before := m[session]
		held <- m
		set := func(k kept) {
			m := <-held
			m[session] = k
			held <- m
		}
		switch sc {
		case s.scripts.drain:
			if before.token == args[1] && len(before.items) > 0 {
				args = slices.Clone(args)
				args[2] = before.first // the log's real end
			}
			reply, err := next(ctx, sc, keys, args)
			if err == nil {
				k := kept{token: args[1].(string), first: args[2].(int64)}
				if before.token == k.token {
					k.items = before.items
				}
				k.items = append(slices.Clone(k.items), list(reply)...)
				set(k)
			}
			return reply, err
		case s.scripts.append, s.scripts.compact:
			if before.token != args[1] || len(before.items) == 0 {
				break
			}
			pairs := []any{args[0], args[1], before.first}
			for _, item := range before.items {
				_, rest, _ := strings.Cut(item.(string), " ")
				at, rest, _ := strings.Cut(rest, " ")
				pairs = append(pairs, at, rest)
			}
			if sc == s.scripts.append {
				pairs = append(pairs, args[3:]...)
			}
			reply, err := next(ctx, s.scripts.append, keys, pairs)
			if err == nil {
				set(kept{})
			}
			if sc == s.scripts.append || err != nil {
				return reply, err
			}
		}
		return next(ctx, sc, keys, args)
	}
}
