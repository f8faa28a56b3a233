package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"tenure/internal/ownfile"
	"tenure/internal/shown"
)

// stdinName stands for standard input in place of the name of a file.
const stdinName = "-"

// readingError is the error of a command that reads a file, and takes it on standard input as well.
type readingError struct {
	error
	file   string
	denied bool     // this user cannot read it
	more   []string // arguments that the command needs then
}

// Unwrap returns the error.
func (e *readingError) Unwrap() error { return e.error }

// cannotRead returns the error about the file of that name, err, which cannot be read.
func cannotRead(name string, err error, advice string) error {
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return &readingError{error: badConfig("%v", err), file: name, denied: true}
	}
	return badConfig("%v; %s", err, advice)
}

// fromRoot returns the error of a command line that has to be typed by root, who gives this user the file.
func (e *readingError) fromRoot(args []string) error {
	me := &ownfile.OtherUser{Owner: os.Geteuid(), Group: os.Getegid(), User: os.Geteuid()}
	return fmt.Errorf("%w; %s", e, me.Remedy(words([]string{program})+" "+e.onStdin(args), ""))
}

// onStdin returns args with the file on standard input: then it is the shell that opens it.
func (e *readingError) onStdin(args []string) string {
	args = append(slices.Clone(args), e.more...)
	if i := slices.Index(args, e.file); i >= 0 {
		args[i] = stdinName
	}
	return words(args) + " < " + shown.Word(e.file)
}

// asOwner returns args as the owner of the data directory is to give them. The owner may be unable to read a file that
// root has made.
func asOwner(err error, other *ownfile.OtherUser, args []string) string {
	var reads *readingError
	if !errors.As(err, &reads) || other.User != 0 || ownfile.CanRead(reads.file, other.Owner, other.Group) {
		return words(args)
	}
	return reads.onStdin(args)
}
