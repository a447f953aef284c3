"""What a change of configuration would do: equations and simulations with their sources. Pure; nothing here is measured."""
