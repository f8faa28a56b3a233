// Package bbolt stands in for the real one.
package bbolt

// DB is a type to use.
type DB struct{}
