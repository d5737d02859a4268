"""The handling of an input: files are read, and charts and kustomizations are rendered, all in this
package.
"""
