//go:build !linux

package pinned

import (
	"context"
	"errors"
)

func (c Config) trial(context.Context, *Report, int, string, arm) error {
	return errors.New("processors can be assigned on Linux only")
}
