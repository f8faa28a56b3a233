// Package space measures how much of its file system a store takes and how much is left. An Account has the newest
// Usage. Its Reserve has the reserve file, and the free space that is promised to writes.
package space
