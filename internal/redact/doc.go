// Package redact keeps secrets out of what a program writes.
//
// [Secret] is a string that prints as [Mask] whatever it is printed with.
// A [Redactor] knows the secrets of the process and takes them out of any text;
// [Redactor.Handler] does so for every record of a slog handler, for secrets
// reach logs by ways no type can stop: a URL in a transport error, a vendor's
// answer that repeats the key.
package redact
