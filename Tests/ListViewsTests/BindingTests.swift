import ListViews
