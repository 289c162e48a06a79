//go:build tools

package main

// Built as it is, from the same modules.
import _ "helm.sh/helm/v3/cmd/helm"
