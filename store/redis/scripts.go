package redis

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// script is a Lua script. Redis knows it by its hash.
type script struct {
	name, source, hash string
}

// scripts are all there are, by their file's name.
type scripts struct {
	accept, acquire, renew, peek, drain, append, load, intent, setReply, compact, bury, release, handOff *script
	due, purge, sessions, info, read, dead                                                               *script
	elect, renewTerm, resign, getTerm, putTerm                                                           *script
	putState, deleteState, listState, reserve, settle, sum, nameBlob, forgetBlob, forgetDead             *script
	enter, claim, probe                                                                                  *script
}

func newScripts() *scripts {
	return &scripts{
		accept: ofSession("accept"), acquire: ofSession("acquire"), renew: ofSession("renew"), peek: ofSession("peek"),
		drain: ofSession("drain"), append: ofSession("append"), load: ofSession("load"), intent: ofSession("intent"),
		setReply: ofSession("setreply"), compact: ofSession("compact"), bury: ofSession("bury"),
		release: ofSession("release"), handOff: ofSession("handoff"), purge: ofSession("purge"),
		info: ofSession("info"), read: ofSession("read"),
		due: plain("due"), sessions: plain("sessions"), dead: plain("dead"),
		elect: plain("elect"), renewTerm: plain("renewterm"), resign: plain("resign"), getTerm: plain("getterm"), putTerm: plain("putterm"),
		putState: plain("putstate"), deleteState: plain("deletestate"), listState: plain("liststate"),
		reserve: plain("reserve"), settle: plain("settle"), sum: plain("sum"), nameBlob: plain("nameblob"),
		forgetBlob: plain("forgetblob"), forgetDead: plain("forgetdead"),
		enter: plain("enter"), claim: plain("claim"), probe: plain("probe"),
	}
}

func ofSession(name string) *script { return newScript(name, "lib", "session", name) }
func plain(name string) *script     { return newScript(name, "lib", name) }

// newScript joins files. They are part of the program, so a missing one is a
// mistake in it.
func newScript(name string, files ...string) *script {
	var source strings.Builder
	for _, f := range files {
		text, err := scriptFiles.ReadFile("scripts/" + f + ".lua")
		if err != nil {
			panic(err)
		}
		source.Write(text)
	}
	return hashed(name, source.String())
}

func hashed(name, source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{name: name, source: source, hash: hex.EncodeToString(sum[:])}
}
