package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tenure/internal/buildinfo"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the revision that was built",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	info := buildinfo.Read()
	return a.print(info, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, info.Line("kvctl"))
		return err
	})
}
