//go:build !linux

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newBackup: the format of a backup is read by the code that reads a data directory, which needs Linux.
func newBackup(*app) *cobra.Command {
	return &cobra.Command{
		Use:    "backup",
		Short:  "Make and verify backups of the whole store (on Linux)",
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("kvctl backup needs Linux; GET /v1/backup of a node gives a backup to any HTTP client")
		},
	}
}

// newExport: as newBackup, for the keys come out of one.
func newExport(*app) *cobra.Command {
	return &cobra.Command{
		Use:    "export",
		Short:  "Write keys and values as text (on Linux)",
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("kvctl export needs Linux; GET /v1/kv/PREFIX?recurse of a node lists keys and values " +
				"as JSON")
		},
	}
}
