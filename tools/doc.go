// Package tools says which tools there are, which of them an agent may see in
// a conversation, and why others are hidden.
//
// A [Descriptor] says what a tool is; a [Tool] pairs it with what runs it. The
// [Registry] is one map, rebuilt whole from its sources whenever one changes.
// [BuildPlan] is a pure function of descriptors and an availability context.
// Implementations live in child packages.
package tools
