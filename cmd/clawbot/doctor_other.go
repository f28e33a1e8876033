//go:build !linux

package main

import "errors"

func volumeOf(string) (volume, error) { return volume{}, errors.ErrUnsupported }

func unsynchronised() bool { return false }
