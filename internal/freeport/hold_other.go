//go:build !unix

package freeport

func hold(int) bool { return false }
