//go:build !linux

package main

import (
	"context"
	"errors"
)

// importEtcd: bbolt files are read by the code that reads a data directory, which needs Linux.
func (x *importCommand) importEtcd(context.Context) error {
	return errors.New("kvctl import --from-etcd needs Linux")
}
