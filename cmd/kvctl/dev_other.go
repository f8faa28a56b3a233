//go:build !unix

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newDev(*app) *cobra.Command {
	return &cobra.Command{
		Use:   "dev",
		Short: "Work on the processes of a local cluster (not on this system)",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("kvctl dev needs a Unix system")
		},
	}
}
