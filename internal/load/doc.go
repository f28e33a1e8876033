// Load runs the real binary against a Telegram fake and a scripted model over
// real HTTP and prints what it cost: latencies, CPU, memory, edits. It asserts
// nothing; see docs/performance.md for how to read it.
//
//	go run ./internal/load -chats 1,200,1000
package main
