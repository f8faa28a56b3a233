package main

import (
	"context"
	"io"

	"tenure/internal/input"
)

// standardInput is what errors call it.
const standardInput = "standard input"

// openInput opens the file of that name, or standard input for "-". Opening and reading end with ctx. The caller closes
// it. The errors of reading call it by the name that is returned.
func (a *app) openInput(ctx context.Context, name string) (r io.ReadCloser, called string, err error) {
	if name == "-" {
		return io.NopCloser(input.NewReader(ctx, a.stdin, standardInput)), standardInput, nil
	}
	f, err := input.Open(ctx, name)
	if err != nil {
		return nil, name, err
	}
	return inputFile{input.NewReader(ctx, f, name), f}, name, nil
}

// inputFile is a file whose reading ends with a context.
type inputFile struct {
	*input.Reader
	io.Closer
}

// badInput makes err an error of usage, unless reading was ended by a signal or the time limit.
func badInput(err error) error {
	if input.IsEnded(err) {
		return err
	}
	return usageError{err}
}
