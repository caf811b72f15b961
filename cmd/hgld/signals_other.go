//go:build !unix

package main

import "os"

func stopSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func isHangup(os.Signal) bool { return false }

func ignoreBrokenPipes() {}
