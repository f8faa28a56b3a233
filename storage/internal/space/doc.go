// Package space has what a store takes of its file system and what is left: an Account has the newest Usage, and its
// Reserve the reserve file with what of the free space is promised to writes. It writes no file but that one.
package space
