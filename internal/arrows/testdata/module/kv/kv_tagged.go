//go:build neverever

package kv // want "no build constraint"
