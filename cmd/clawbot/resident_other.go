//go:build !linux

package main

func releaseText() {}
