// Command chaos runs replicas as processes over a real redis-server, kills and
// hinders everything that can be, and checks afterwards that nobody in the
// chats could tell.
//
//	controller: this process            replicas: this program again, "worker"
//	  Telegram fake ─► balancer ──────────►  webhook ─► gateway ─► tool ─► world (counted
//	  (posts, redelivers)  picks, doubles,      │  ▲                        by the controller)
//	                       forgets answers      │  └─ model server (scripted)
//	                                            ▼
//	                       a proxy per replica (cuts, silence, lost answers) ─► redis-server
//
// A run loads the replicas from many chats, injects the faults of its schedule,
// lets everything come to rest and checks transcripts, chats, world and Redis
// ([check]). Then the checker itself is checked: broken builds of the store
// ([mutants]), each under the schedule that brings its fault out, must be
// caught. They exist only in a program built with the tag chaos.
package main
