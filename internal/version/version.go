// Package version tells which build of clawbot is running.
package version

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is set when a release is linked:
//
//	go build -ldflags "-X clawbot/internal/version.Version=v1.2.3"
//
// Without it the version is what the go command recorded from the repository.
var Version string

// Info describes the build.
type Info struct {
	Version  string // "v1.2.3", a pseudo-version, or "devel"
	Commit   string // short; empty when unknown
	Modified bool   // built from a changed checkout
	Date     string // of the commit, RFC 3339; empty when unknown
	Go       string
	Platform string // "linux/amd64"
}

// Get returns the running build.
func Get() Info {
	build, _ := debug.ReadBuildInfo()
	return from(Version, build)
}

func from(release string, build *debug.BuildInfo) Info {
	info := Info{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build != nil {
		if info.Version == "" && build.Main.Version != "(devel)" {
			info.Version = build.Main.Version
		}
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Commit = s.Value[:min(12, len(s.Value))]
			case "vcs.time":
				info.Date = s.Value
			case "vcs.modified":
				info.Modified = s.Value == "true"
			}
		}
	}
	if info.Version == "" {
		info.Version = "devel"
	}
	return info
}

// String returns one line: "v1.2.3 (4f2a9c1b77aa, 2026-11-29T10:00:00Z) go1.26.0 linux/amd64".
func (i Info) String() string {
	var about []string
	if i.Commit != "" {
		commit := i.Commit
		if i.Modified {
			commit += ", modified"
		}
		about = append(about, commit)
	}
	if i.Date != "" {
		about = append(about, i.Date)
	}
	out := i.Version
	if len(about) > 0 {
		out += " (" + strings.Join(about, ", ") + ")"
	}
	return out + " " + i.Go + " " + i.Platform
}
