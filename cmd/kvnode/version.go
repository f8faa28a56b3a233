package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tenure/internal/buildinfo"
)

func newVersion(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the revision it was built from",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return printVersion(stdout) },
	}
}

func printVersion(stdout io.Writer) error {
	_, err := fmt.Fprintln(stdout, buildinfo.Read().Line("kvnode"))
	return err
}
