package redis_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"clawbot/internal/redistest"
	"clawbot/store/redis"
)

// refused opens and expects an error that holds all of these words and no
// password.
func refused(t *testing.T, cfg redis.Config, want ...string) {
	t.Helper()
	cfg.Patience = 100 * time.Millisecond
	s, err := redis.Open(t.Context(), cfg)
	if err == nil {
		_ = s.Close()
		t.Fatal("it was opened")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error is %q, want %q in it", err, w)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error tells the password: %q", err)
	}
}

func TestAMalformedURLIsRefusedWithoutRepeatingIt(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1":                    "scheme",
		"127.0.0.1:6379":                      "redis://",
		"redis://u:s3cret/@h:1":               "escaped",
		"redis://:s3cret@h:port":              "escaped",
		"redis://u:s3cret@h:99999":            "the port",
		"redis://h/s3cret@":                   "%2F",
		"redis://h?s3cret@":                   "%3F",
		"redis://:s3cret":                     "escaped",
		"s3cret://h":                          "scheme",
		"redis://u:s3cret@h/zero":             "database number",
		"redis://u:s3cret@h/-1":               "database number",
		"redis://u:s3cret@h,i":                "redis-cluster://",
		"redis-sentinel://u:s3cret@h":         "NAME",
		"redis-cluster://u:s3cret@h/3":        "database 0",
		"redis://u:s3cret@h/?db=3":            "ca_file",
		"redis://u:s3cret@h/?ca_file=x":       "rediss",
		"rediss://u:s3cret@h/?ca_file=/no/ca": "ca_file",
	} {
		t.Run(url, func(t *testing.T) { refused(t, redis.Config{URL: url, Prefix: "p"}, "store.url", want) })
	}
	for _, prefix := range []string{"", "a b", "a{b}", "é", strings.Repeat("p", 65)} {
		refused(t, redis.Config{URL: shared.URL(), Prefix: prefix}, "store.prefix")
	}
}

func TestWhoIsNotThereIsNamed(t *testing.T) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	addr := l.Addr().String()
	check(t, l.Close())
	refused(t, quietly("redis://"+addr), addr, "nobody listens")
	refused(t, quietly("redis-cluster://"+addr), addr, "nobody listens")
	refused(t, quietly("redis-sentinel://"+addr+"/main"), addr, "sentinel")
	refused(t, quietly("redis://no-such-host.invalid"), "no-such-host.invalid", "store.url")

	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	refused(t, quietly("redis://"+strings.TrimPrefix(page.URL, "http://")), "redis at")
	refused(t, quietly("rediss://"+shared.Addr), "TLS")
}

func TestAServerThatIsTooOldIsRefused(t *testing.T) {
	refused(t, quietly("redis://"+answering(t, map[string]string{
		"hello": "*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n6.2.7\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n",
	})), "6.2.7", "Redis 7")
	refused(t, quietly("redis://"+answering(t, map[string]string{"hello": "-ERR unknown command `HELLO`\r\n"})), "Redis 7")
}

// answering is a server that knows the given commands only.
func answering(t *testing.T, answers map[string]string) string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					var n int
					if _, err := fmt.Fscanf(r, "*%d\r\n", &n); err != nil {
						return
					}
					name := ""
					for i := range n {
						var size int
						if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
							return
						}
						word := make([]byte, size+2)
						for at := 0; at < len(word); {
							got, err := r.Read(word[at:])
							if err != nil {
								return
							}
							at += got
						}
						if i == 0 {
							name = strings.ToLower(string(word[:size]))
						}
					}
					answer := answers[name]
					if answer == "" {
						answer = "+OK\r\n"
					}
					if _, err := c.Write([]byte(answer)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestPasswordsAndRightsAreAskedFor(t *testing.T) {
	s := redistest.Start(t, "--requirepass", "s3cret")
	refused(t, quietly(s.URL()), "password", "store.url")
	refused(t, quietly("redis://:wrong@"+s.Addr), "password", "store.url")
	refused(t, quietly("redis://nobody:s3cret@"+s.Addr), "store.url")
	open(t, quietly("redis://:s3cret@"+s.Addr))

	admin := client(t, s.Addr)
	check(t, admin.Do(t.Context(), "AUTH", "s3cret").Err())
	rule := func(words ...any) {
		t.Helper()
		check(t, admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "bot", "reset", "on", ">s3cret"}, words...)...).Err())
	}
	cfg := quietly("redis://bot:s3cret@" + s.Addr)
	for name, words := range map[string][]any{
		"no scripts":        {"~*", "&*", "+@all", "-@scripting"},
		"no lists":          {"~*", "&*", "+@all", "-@list"},
		"no writing":        {"~*", "&*", "+@read", "+@connection", "+@scripting"},
		"other keys":        {"~other:*", "&*", "+@all"},
		"no publishing":     {"~*", "resetchannels", "+@all"},
		"no right whatever": {"~*"},
	} {
		t.Run(name, func(t *testing.T) {
			rule(words...)
			refused(t, cfg, `user "bot" lacks rights`, "ACL SETUSER bot ~"+cfg.Prefix+":* &"+cfg.Prefix+":*")
		})
	}
	t.Run("the rule that the refusal names is enough", func(t *testing.T) {
		rule("~"+cfg.Prefix+":*", "&"+cfg.Prefix+":*", "+@all", "-@dangerous", "-@admin", "+info", "+config|get")
		st := open(t, cfg)
		conversation(t, st, "s", nil)
		warnings := must(st.Warnings(t.Context()))(t)
		if len(warnings) != 1 || !strings.Contains(warnings[0].What, "appendonly no") {
			t.Errorf("warnings: %+v", warnings)
		}
	})
	t.Run("who may not read the configuration is told that it is unknown", func(t *testing.T) {
		rule("~"+cfg.Prefix+":*", "&"+cfg.Prefix+":*", "+@all", "-@dangerous", "-@admin")
		var log bytes.Buffer
		c := cfg
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		open(t, c)
		if !strings.Contains(log.String(), "unknown") {
			t.Errorf("log: %s", &log)
		}
		c.RequireDurability = true
		refused(t, c, "unknown", "+config|get")
	})
}

func TestSettingsThatLoseDataAreToldOrRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		warn     string // empty: none
		refuse   bool
	}{
		{"durable", redistest.Durable(), "", false},
		{"no log", nil, "appendonly no", false},
		{"a log once a second", []string{"--appendonly", "yes"}, "appendfsync everysec", false},
		{"eviction", append(redistest.Durable(), "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"), "allkeys-lru", true},
		{"eviction of what expires", append(redistest.Durable(), "--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"), "volatile-ttl", true},
		{"a policy without a limit", append(redistest.Durable(), "--maxmemory-policy", "volatile-lru"), "volatile-lru", false},
		{"a limit that refuses", append(redistest.Durable(), "--maxmemory", "100mb"), "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := redistest.Start(t, c.settings...)
			cfg := quietly(s.URL())
			if c.refuse {
				refused(t, cfg, c.warn, "CONFIG SET maxmemory-policy noeviction")
				return
			}
			st := open(t, cfg)
			warnings := must(st.Warnings(t.Context()))(t)
			if got := fmt.Sprint(warnings); (len(warnings) > 0) != (c.warn != "") || !strings.Contains(got, c.warn) {
				t.Errorf("warnings: %s", got)
			}
			cfg.RequireDurability = true
			if c.warn == "" {
				open(t, cfg)
			} else {
				refused(t, cfg, c.warn, "CONFIG SET")
			}
		})
	}
}

func TestAPrefixThatIsNotOursIsRefused(t *testing.T) {
	ctx := t.Context()
	rdb := client(t, shared.Addr)
	t.Run("another application's keys", func(t *testing.T) {
		cfg := quietly(shared.URL())
		check(t, rdb.Set(ctx, cfg.Prefix+":users:1", "x", 0).Err())
		refused(t, cfg, cfg.Prefix+":users:1", "store.prefix")
		check(t, rdb.Del(ctx, cfg.Prefix+":users:1").Err())
		open(t, cfg)
		check(t, rdb.Set(ctx, cfg.Prefix+":users:1", "x", 0).Err())
		open(t, cfg) // it was ours first
	})
	t.Run("another application's mark", func(t *testing.T) {
		cfg := quietly(shared.URL())
		check(t, rdb.Set(ctx, cfg.Prefix+":meta", "x", 0).Err())
		refused(t, cfg, "store.prefix")
		check(t, rdb.Del(ctx, cfg.Prefix+":meta").Err())
		check(t, rdb.HSet(ctx, cfg.Prefix+":meta", "version", "x").Err())
		refused(t, cfg, "store.prefix")
	})
	t.Run("a clawbot whose prefix is longer is no stranger", func(t *testing.T) {
		cfg := quietly(shared.URL())
		short := cfg
		cfg.Prefix += ":staging"
		conversation(t, open(t, cfg), "s", nil)
		open(t, short)
	})
	t.Run("what a newer clawbot wrote", func(t *testing.T) {
		cfg := quietly(shared.URL())
		open(t, cfg)
		check(t, rdb.HSet(ctx, cfg.Prefix+":meta", "format", 2).Err())
		refused(t, cfg, "newer clawbot", "update this replica")
	})
	t.Run("another bot", func(t *testing.T) {
		cfg := quietly(shared.URL())
		a, b := open(t, cfg), open(t, cfg)
		check(t, a.Claim(ctx, "telegram", "4711"))
		check(t, b.Claim(ctx, "telegram", "4711"))
		check(t, b.Claim(ctx, "discord", "1"))
		err := b.Claim(ctx, "telegram", "42")
		for _, want := range []string{"4711", "42", "store.prefix", "redis-cli HDEL"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want %q in it", err, want)
			}
		}
	})
}

func TestTheWrongKindOfServerIsRefused(t *testing.T) {
	cluster := oneNodeCluster(t)
	refused(t, quietly("redis"+strings.TrimPrefix(cluster, "redis-cluster")), "redis-cluster://")
	refused(t, quietly("redis-cluster://"+shared.Addr), "no cluster")
	refused(t, quietly(shared.URL()+"/99"), "database")
	_, port, _ := net.SplitHostPort(shared.Addr)
	replica := redistest.Start(t, "--replicaof", "127.0.0.1 "+port)
	refused(t, quietly(replica.URL()), "read-only replica", "redis-sentinel://")
}

func TestCheckTellsWhatHindersWriting(t *testing.T) {
	failing := func(t *testing.T, st *redis.Store, want ...string) {
		t.Helper()
		err := st.Check(t.Context())
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("error is %v, want %q in it", err, w)
			}
		}
	}
	t.Run("away and back", func(t *testing.T) {
		s := redistest.Start(t, redistest.Durable()...)
		cfg := quietly(s.URL())
		cfg.Patience = 20 * time.Millisecond
		st := open(t, cfg)
		check(t, st.Check(t.Context()))
		s.Kill()
		failing(t, st, "start Redis", s.Addr)
		_, err := st.Accept(t.Context(), message("s", "a"))
		if err == nil {
			t.Error("a message was accepted without Redis")
		}
		check(t, s.Restart())
		for st.Check(t.Context()) != nil {
		}
		if acc := must(st.Accept(t.Context(), message("s", "a")))(t); acc.Duplicate {
			t.Error("what was refused is known")
		}
	})
	t.Run("silent", func(t *testing.T) {
		s := redistest.Start(t)
		st := open(t, quietly(s.URL()))
		check(t, s.Pause())
		failing(t, st, "does not answer")
		check(t, s.Resume())
	})
	t.Run("read-only", func(t *testing.T) {
		s := redistest.Start(t)
		st := open(t, quietly(s.URL()))
		_, port, _ := net.SplitHostPort(shared.Addr)
		command(t, s.Addr, "REPLICAOF", "127.0.0.1", port)
		failing(t, st, "read-only replica")
	})
	t.Run("full", func(t *testing.T) {
		s := redistest.Start(t)
		st := open(t, quietly(s.URL()))
		must(st.Accept(t.Context(), message("s", "before")))(t)
		command(t, s.Addr, "CONFIG", "SET", "maxmemory", "1")
		failing(t, st, "full", "maxmemory")
		if _, err := st.Accept(t.Context(), message("s", "during")); err == nil || !strings.Contains(err.Error(), "maxmemory") {
			t.Errorf("accept: %v", err)
		}
		command(t, s.Addr, "CONFIG", "SET", "maxmemory", "0")
		check(t, st.Check(t.Context()))
		if acc := must(st.Accept(t.Context(), message("s", "during")))(t); acc.Duplicate || acc.Waiting != 2 {
			t.Errorf("accepted: %+v", acc)
		}
	})
	t.Run("emptied", func(t *testing.T) {
		s := redistest.Start(t)
		var log bytes.Buffer
		cfg := quietly(s.URL())
		cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
		st := open(t, cfg)
		command(t, s.Addr, "FLUSHALL")
		check(t, st.Check(context.Background()))
		check(t, st.Check(context.Background()))
		if n := strings.Count(log.String(), "has lost"); n != 1 {
			t.Errorf("the loss is logged %d times: %s", n, &log)
		}
	})
}
